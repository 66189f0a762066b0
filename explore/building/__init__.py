"""The building of variants from points, and what is counted on their kernels."""
