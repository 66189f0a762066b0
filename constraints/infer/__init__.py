"""The inference of a program's constraints: from its nodes, the nesting of its maps, and the limits
of a device."""
