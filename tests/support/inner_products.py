"""Inner products of arrays and tuples, by which adjoints are checked: ⟨A x, y⟩ = ⟨x, A* y⟩."""

# key: p program, x y data, r random numbers

from random import Random

import numpy as np

from ir.core.nodes import Program
from ir.meaning.inputs import Data, random_inputs
from ir.meaning.interpret import evaluate


def inner_product(x: Data, y: Data) -> float:
    """The sum of the products of all numbers of x with those of y."""
    if isinstance(x, tuple):
        assert isinstance(y, tuple)
        return sum(inner_product(a, b) for a, b in zip(x, y, strict=True))
    assert isinstance(y, np.ndarray)
    return float((x.astype(np.float64) * y.astype(np.float64)).sum())


def less(x: Data, y: Data) -> Data:
    """The data x - y, number by number."""
    if isinstance(x, tuple):
        assert isinstance(y, tuple)
        return tuple(less(a, b) for a, b in zip(x, y, strict=True))
    assert isinstance(y, np.ndarray)
    return np.asarray(x.astype(np.float64) - y.astype(np.float64)).astype(x.dtype)


def zeros(x: Data) -> Data:
    return tuple(map(zeros, x)) if isinstance(x, tuple) else np.zeros_like(x)


def whole(x: Data, r: Random) -> Data:
    """Random small whole numbers in the shape of x, drawn by r."""
    if isinstance(x, tuple):
        return tuple(whole(part, r) for part in x)
    numbers = [r.randint(-4, 4) for _ in range(x.size)]
    return np.array(numbers, x.dtype).reshape(x.shape)


def is_whole(x: Data) -> bool:
    """True if all numbers of x are whole."""
    return all(map(is_whole, x)) if isinstance(x, tuple) else not np.any(x.astype(np.float64) % 1)


def apart(p: Program, name: str, adjoint: Program, r: Random) -> float:
    """The difference between ⟨A x, y⟩ and ⟨x, A* y⟩, where x and y are random whole numbers: 0 if
    the program `adjoint` is the adjoint A* of p in its parameter `name`. A x is p's result for x
    less its result for zeros. If A x or A* y is not whole, a difference after the twelfth digit
    counts as 0."""
    inputs = random_inputs(p, r.randrange(1 << 16), integers=True)
    made = less(evaluate(p, inputs), evaluate(p, {**inputs, name: zeros(inputs[name])}))
    y = whole(made, r)
    back = evaluate(adjoint, taken(adjoint, inputs, y))
    x = inputs[name]
    away = abs(inner_product(made, y) - inner_product(x, back))
    if is_whole(made) and is_whole(back):
        return away
    size = np.sqrt(inner_product(made, made) * inner_product(y, y))
    size += np.sqrt(inner_product(x, x) * inner_product(back, back))
    return 0.0 if away <= 1e-12 * size else away


def taken(derived: Program, inputs: dict[str, Data], y: Data) -> dict[str, Data]:
    """The inputs of `derived`, an adjoint or a gradient of a program: the cotangent y, and those of
    the program's `inputs` that `derived` has as parameters, too."""
    *others, cotangent = (q.var.name for q in derived.params)
    return {**{name: inputs[name] for name in others}, cotangent: y}
