"""The ONNX operators of networks as programs of our language. Functions shared by operators are in
`operators.lift`; each operator has a function in Python that takes a `Site` (a node with the
tensors that it reads) and gives a `Step` (the program for one of the node's results)."""
