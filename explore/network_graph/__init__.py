"""A model's graph as layers: nodes are folded into those before them, and each that is left becomes
a program with typed arrays around it.
"""
