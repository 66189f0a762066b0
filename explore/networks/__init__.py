"""Whole networks: a model's nodes become layers, each layer's variants are found, one is chosen for
each layer under a budget of memory, and all of them make one plan.
"""
