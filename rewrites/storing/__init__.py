"""Which views a program stores, and how constants are laid out."""
