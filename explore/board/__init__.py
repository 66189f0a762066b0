"""A board as a worker: it builds texts that it is given, runs, checks and times them, with no more
than Python, NumPy and pyopencl."""
