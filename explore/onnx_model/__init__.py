"""The reading of ONNX files: a model becomes a graph of nodes and arrays, in which constants are
folded.

The rest of convlift does not know the `onnx` package.
"""

from importlib.util import find_spec

from ir.errors import UserError

if find_spec("onnx") is None:
    raise UserError("networks need the onnx package: pip install 'convlift[onnx]'")
