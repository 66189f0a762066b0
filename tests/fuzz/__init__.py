"""Random programs by random ways of lowering, on every device: `python -m tests.fuzz`."""
