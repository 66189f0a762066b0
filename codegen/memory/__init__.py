"""The memory of kernels: buffers that share storage, registers, and barriers."""
