"""The lowering of one kernel: copies, tiles, register blocks, work-groups, parts of sums."""
