"""Devices: finding them, building, running and timing kernels."""
