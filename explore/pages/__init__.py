"""The HTML pages of a run: its report as one file, and the same page while the run goes on."""
