"""The order in which candidates are tried."""
