"""Compilers for devices that this machine does not have: where they come from, how a kernel is
compiled by them, and the numbers that they tell of its code."""
