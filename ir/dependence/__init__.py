"""Dependence: the elements of its inputs that a program's results depend on."""
