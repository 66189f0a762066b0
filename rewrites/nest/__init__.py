"""Nests of maps around a reduction: their normal form, dimensions, order and blocks."""
