"""The constraints of a program: obligations of its nodes, nesting, limits of a device."""
