"""Proofs of a kernel: in bounds, free of races, barriers uniform."""
