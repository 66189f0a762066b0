"""The data kept of a run: its environment, outcomes, times and front."""
