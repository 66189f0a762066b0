"""From a lowered term to a statement tree: views, places, loops, values made real."""
