"""The laws of maps, reductions, windows, views, vectors and lowering, one equation each."""
