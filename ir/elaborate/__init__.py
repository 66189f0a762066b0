"""Elaboration: from a parsed tree to a typed program, by names, calls, patterns and primitives."""
