"""Processes that derive, build and run, and may die."""
