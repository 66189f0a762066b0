"""The search: the order in which candidates are tried."""
