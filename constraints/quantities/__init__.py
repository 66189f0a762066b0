"""The quantities of a program: work-items, groups, bytes of each memory, size of code,
operations."""
