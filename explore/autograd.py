"""A program as a function on PyTorch's tensors that has gradients: variants of the program compute
its results, variants of its gradients their gradients."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from explore.api import Written, compile, core_of, gradients
from explore.run.compiled_variant import Compiled
from ir.core.nodes import Program

Build = Callable[[Program], Compiled]


def differentiable(program: Written, build: Build = compile) -> Callable[..., Any]:
    """A function of PyTorch's tensors, in the order of the program's parameters, that computes the
    program; needs PyTorch.

    `build` makes a compiled variant of a program: of the program itself, and of its gradient in
    each parameter for which PyTorch asks. Between calls, as in training, constants may change: each
    call gives them anew.
    """
    import torch

    core = core_of(program)
    names = [p.var.name for p in core.params]
    made, back = build(core), gradients(core)

    @lru_cache(maxsize=len(names))
    def gradient(name: str) -> Compiled:
        return build(back[name])

    class Made(torch.autograd.Function):  # type: ignore[misc]
        """One call of a program, as PyTorch's autograd sees it: the inputs are kept, and gradients
        are computed when they are asked for."""

        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            ctx.save_for_backward(*tensors)
            return _tensor(made(*map(_array, tensors)), tensors[0])

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, cotangent: Any) -> tuple[Any, ...]:
            given = {n: _array(t) for n, t in zip(names, ctx.saved_tensors, strict=True)}
            return tuple(
                _tensor(_back(gradient(name), given, _array(cotangent)), cotangent)
                if needed and name in back
                else None
                for name, needed in zip(names, ctx.needs_input_grad, strict=True)
            )

    apply: Callable[..., Any] = Made.apply
    return apply


def _back(gradient: Compiled, given: dict[str, Any], cotangent: Any) -> Any:
    """The value of `gradient`, called with those arrays in `given` (the program's inputs by name)
    that it takes, and with a cotangent."""
    *others, last = gradient.names
    return gradient(**{n: given[n] for n in others}, **{last: cotangent})


def _array(tensor: Any) -> Any:
    return np.ascontiguousarray(tensor.detach().cpu().numpy())


def _tensor(array: Any, like: Any) -> Any:
    import torch

    return torch.from_numpy(np.array(array)).to(like)
