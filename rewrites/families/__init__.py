"""The families: one way each to lower a program."""
