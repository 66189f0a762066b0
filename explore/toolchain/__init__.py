"""Compilers for devices that are not here: where they come from, how a kernel is given to one, and
what it says of the kernel."""
