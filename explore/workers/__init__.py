"""The worker processes that derive, build and run, and that may die without hurting the run."""
