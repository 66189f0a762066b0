"""The quantities of a program: work-items, groups, bytes of each memory, operations, and operations
in its text."""
