"""From a parsed tree to a typed program: names, calls, patterns, primitives."""
