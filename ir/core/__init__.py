"""Sizes, types, nodes and terms: what a program is made of."""
