"""How one kernel is lowered: copies, tiles, register blocks, work-groups, parts of sums."""
