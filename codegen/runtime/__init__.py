"""The runtime: it finds devices, and builds, runs and times kernels."""
