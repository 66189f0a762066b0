"""The fuzzer, `python -m tests.fuzz`: random programs are lowered in random ways, run on every
device, and compared with the interpreter."""
