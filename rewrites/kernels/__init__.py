"""Strategies that lower one kernel: copies, tiles, register blocks, work-groups, sums in parts."""
