"""A model's graph as layers: nodes are folded into earlier ones, and each node that is left becomes
a program, which reads and makes typed arrays."""
