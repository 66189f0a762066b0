"""The interpreter: what a program computes, on NumPy arrays."""
