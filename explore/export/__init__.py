"""Variants for use elsewhere: kernels with hosts, CSV, the T4 format."""
