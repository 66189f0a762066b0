"""Boards: small machines as workers. A board builds kernels from the texts that it gets, runs,
checks and times them, and needs only Python, NumPy and pyopencl."""
