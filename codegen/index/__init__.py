"""Index algebra: integer sums in normal form with ranges, quotients and remainders."""
