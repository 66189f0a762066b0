"""The least that a program must move and compute."""
