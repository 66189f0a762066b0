"""The reader of the OpenCL C that kernels are printed in: its words, its syntax trees."""
