"""The instructions, each module those that belong together, in `ENTRIES`. `ir.instructions.table`
lists all of them."""
