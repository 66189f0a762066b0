"""Tables, progress, plots and the HTML report."""
