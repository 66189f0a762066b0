"""Emission: from a lowered term to a statement tree, by views, places, loops and values made
real."""
