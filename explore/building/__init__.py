"""From a point to a built variant, and what is counted on its kernels."""
