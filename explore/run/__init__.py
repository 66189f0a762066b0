"""A run: candidates, the loop over rounds, its target, and why nothing was found."""
