"""Strategies on nests of maps around a reduction: normal form, dimensions, order, blocks of
results."""
