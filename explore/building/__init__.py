"""The building of variants from points, and the counts (operations, traffic) of their kernels."""
