"""The reading of ONNX files: a model becomes a graph of nodes and arrays, in which constants are
folded.

The rest of convlift does not know the `onnx` package.
"""
