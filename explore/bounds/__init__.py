"""Lower bounds: the least that any variant of a program must move and compute."""
