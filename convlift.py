"""Convolutions written once, as small functional programs; explored, measured, and picked.

The five packages `ir`, `rewrites`, `constraints`, `codegen` and `explore` do the work; here is what
a user needs of them, under one name.

>>> import numpy as np
>>> import convlift
>>> program = convlift.parse("p(xs : [float]3) = map(x -> x * x, xs)")
>>> program
<program p(xs : [float]3)>
>>> convlift.evaluate(program, {"xs": np.arange(3.0)})
array([0., 1., 4.])
>>> print(convlift.show(program))
p(xs : [float]3) =
  map(x -> x * x, xs)
<BLANKLINE>

`fun` makes the same programs of Python functions:

>>> from ir.build import float_, map_
>>> convlift.fun(lambda xs: map_(lambda x: x * x, xs), float_[3], name="p") == program
True
"""

from typing import TYPE_CHECKING, Any

from ir.installed_version import installed_version

if TYPE_CHECKING:
    from explore.api import adjoint, compile, explore, gradients
    from explore.run.compiled_variant import Compiled
    from explore.run.run import Run
    from ir.build import fun
    from ir.core.nodes import Program
    from ir.errors import UserError
    from ir.meaning.interpret import evaluate
    from ir.parse import parse, parse_file
    from ir.text.show import show

__version__ = installed_version()
__all__ = [
    "Compiled",
    "Program",
    "Run",
    "UserError",
    "__version__",
    "adjoint",
    "compile",
    "evaluate",
    "explore",
    "fun",
    "gradients",
    "parse",
    "parse_file",
    "show",
]


def __getattr__(name: str) -> Any:
    """The object of this name, loaded with what it needs when it is first asked for."""
    match name:
        case "Run":
            from explore.run.run import Run

            return Run
        case "Compiled":
            from explore.run.compiled_variant import Compiled

            return Compiled
        case "adjoint" | "compile" | "explore" | "gradients":
            from explore import api

            return getattr(api, name)
        case "fun":
            from ir.build import fun

            return fun
        case "evaluate":
            from ir.meaning.interpret import evaluate

            return evaluate
        case "Program" | "UserError" | "parse" | "parse_file" | "show":
            import ir

            return getattr(ir, name)
    raise AttributeError(f"module 'convlift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
