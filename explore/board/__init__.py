"""Boards: a small machine as a worker. It builds kernels from the texts that it gets, runs, checks
and times them, and needs only Python, NumPy and pyopencl."""
