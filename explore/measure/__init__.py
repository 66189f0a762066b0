"""Timing and checking of variants, the roofline, the reference result."""
