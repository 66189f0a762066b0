"""The timing and checking of variants, the peaks of a device, and the reference result."""
