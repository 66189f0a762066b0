"""Emission: the making of a statement tree from a lowered term. Terms are read as views, results
are written at places, and lets are computed into memory."""
