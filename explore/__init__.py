"""The search for a program's best variants: space, search, measurements, store, front, report,
export.

`explore(program)` makes a run, `compile(program)` one callable variant, `network(model)` a callable
of an ONNX file, `adjoint(program, name)` and `gradients(program)` other programs,
`differentiable(program)` a function that PyTorch can go back through. All load the compiler when
they are called: worker processes import this package for a few light modules.
"""

from typing import Any

__all__ = ["Run", "adjoint", "compile", "differentiable", "explore", "gradients", "network"]


def __getattr__(name: str) -> Any:
    if name == "Run":
        from explore.run.run import Run

        return Run
    if name == "network":
        from explore.networks.open_network import network

        return network
    if name == "differentiable":
        from explore.autograd import differentiable

        return differentiable
    if name in __all__:
        from explore import api

        return getattr(api, name)
    raise AttributeError(f"module 'explore' has no attribute {name!r}")
