"""A run from its candidates through rounds of measuring to its front, and why nothing was found."""
