"""Which elements of its inputs a program's results depend on."""
