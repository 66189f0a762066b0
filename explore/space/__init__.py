"""The space of a program: forms and points that may be tried, and what is known of them before they
run."""
