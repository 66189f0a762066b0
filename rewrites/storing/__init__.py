"""The views that a program stores, and the layouts of its constants."""
