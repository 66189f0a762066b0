"""Index algebra: sums of products in normal form with ranges, quotients and remainders."""
