"""The operators of networks as programs: each is written once, in `operators.lift`, and is called
with a node's attributes and shapes.

An operator's function takes a `Site`, which is a node with the tensors that it reads, and gives a
`Step`: a program for one output.
"""
