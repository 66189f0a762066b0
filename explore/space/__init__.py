"""Forms and points that may be tried, and what is known of them without running."""
