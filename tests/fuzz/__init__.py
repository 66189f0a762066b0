"""The fuzzer: random programs, lowered in random ways, run on every device: `python -m
tests.fuzz`."""
