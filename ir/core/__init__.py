"""The core of programs: sizes, types, nodes and terms."""
