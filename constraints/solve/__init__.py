"""The Z3 side: is there a point, why not, what is implied."""
