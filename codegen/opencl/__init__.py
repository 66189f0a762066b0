"""The printer: from a statement tree to OpenCL text."""
