"""The presentation of runs: tables, summaries, progress and plots."""
