"""What a program takes: work-items, groups, bytes of each memory, code, operations."""
