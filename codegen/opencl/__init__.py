"""From a statement tree to OpenCL text."""
