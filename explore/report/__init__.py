"""The presentation of runs: tables, progress, plots and the HTML report."""
