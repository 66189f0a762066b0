"""Numbers and what is done with them, as OpenCL C."""
