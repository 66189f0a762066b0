"""Runs for devices that this machine does not have, if a compiler for them is installed: the
variants that are best by the cost model are compiled, and their times predicted from the compiled
code."""
