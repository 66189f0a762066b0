"""The export of variants and runs: kernels with host programs, CSV, the T4 format."""
