"""Operators that work number by number, on tensors of the same shape or of shapes that ONNX
broadcasts."""

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np

from explore.onnx_model.onnx_graph import Kind
from explore.operators.activations import ACTIVATIONS, IDENTITY, clipped, function_of
from explore.operators.program_text import channels_last, flat, literal, number, shaped
from explore.operators.site import Site, Step, Tensor
from ir.core.frozen import frozen

Text = Callable[[Sequence[str]], str]

BINARY: dict[str, Text] = {
    "Add": lambda xs: " + ".join(xs),
    "Sum": lambda xs: " + ".join(xs),
    "Sub": lambda xs: f"{xs[0]} - {xs[1]}",
    "Mul": lambda xs: f"{xs[0]} * {xs[1]}",
    "Div": lambda xs: f"{xs[0]} / {xs[1]}",
    "Max": lambda xs: _nested("max", xs),
    "Min": lambda xs: _nested("min", xs),
    "Mean": lambda xs: f"({' + '.join(xs)}) / {number(float(len(xs)))}",
}


def _nested(f: str, xs: Sequence[str]) -> str:
    return xs[0] if len(xs) == 1 else f"{f}({xs[0]}, {_nested(f, xs[1:])})"


def activation(site: Site) -> Step:
    """The step of a function of one number, such as `Relu`."""
    f = ACTIVATIONS[site.node.operator]
    return number_by_number(site, [0], lambda xs: f.applied(site.attributes, xs[0]))


def function(site: Site) -> Step:
    """The step of a function of one number into which several nodes were folded."""
    of = function_of([("Function", site.attributes)]).removeprefix("y -> ")
    return number_by_number(site, [0], lambda xs: f"let y = {xs[0]}\n{of}")


def clip(site: Site) -> Step:
    """The step of a `Clip`, whose limits are attributes, constants, or tensors of one number."""
    if all(not site.has(n) or site.tensor(n).array is not None for n in (1, 2)):
        low, high = limits(site)
        return number_by_number(site, [0], lambda xs: clipped(low, high, xs[0]))
    which = [n for n in (0, 1, 2) if site.has(n)]

    def of(xs: Sequence[str]) -> str:
        by_input = dict(zip(which, xs, strict=True))
        x = f"max({by_input[1]}, {by_input[0]})" if 1 in by_input else by_input[0]
        return f"min({by_input[2]}, {x})" if 2 in by_input else x

    return number_by_number(site, which, of)


def limits(site: Site) -> tuple[float | None, float | None]:
    """The least and the largest value that a `Clip` allows, from its attributes or constant inputs;
    None for no limit."""
    found = []
    for n, name in ((1, "min"), (2, "max")):
        value = site.attribute(name, None)
        if site.has(n):
            value = site.array(n, "limits").item()
        found.append(None if value is None or np.isinf(value) else float(value))
    return found[0], found[1]


def several(site: Site) -> Step:
    """The step of an operator on several tensors, such as `Add`."""
    return number_by_number(site, list(range(len(site.inputs))), BINARY[site.node.operator])


def prelu(site: Site) -> Step:
    """The step of a `PRelu`: numbers below 0 are multiplied by a slope, read from input 1."""
    of: Text = lambda xs: f"max({xs[0]}, 0.0) + {xs[1]} * min({xs[0]}, 0.0)"  # noqa: E731
    return number_by_number(site, [0, 1], of)


def batch_normalisation(site: Site) -> Step:
    """The step of a `BatchNormalization` with fixed statistics for each channel; Refused if the
    model is being trained, or has statistics for each number."""
    if len([name for name in site.node.outputs if name]) > 1 or site.attribute("training_mode", 0):
        raise site.refused(
            "expected a model for inference, found training_mode or more results than one"
        )
    if not site.attribute("spatial", 1):
        raise site.refused("expected statistics for each channel, found spatial = 0")
    x, epsilon = site.tensor(0), float(site.attribute("epsilon", 1e-5))
    arrays = [site.tensor(n) for n in range(1, 5)]
    if all(t.array is not None for t in arrays):
        scale, bias, mean, variance = (site.array(n, "numbers") for n in range(1, 5))
        factor = scale / np.sqrt(variance + epsilon)
        shift = bias - mean * factor
        shape = (-1, *(1,) * (len(x.shape) - 2))
        both = [factor.astype(np.float32).reshape(shape), shift.astype(np.float32).reshape(shape)]
        operands = [x, *(Tensor("", Kind.of(a), array=a) for a in both)]
        return _over(site, operands, lambda xs: f"{xs[0]} * {xs[1]} + {xs[2]}")
    channels = [_of_channels(t, len(x.shape)) for t in arrays]
    return _over(
        site,
        [x, *channels],
        lambda xs: f"({xs[0]} - {xs[3]}) / sqrt({xs[4]} + {number(epsilon)}) * {xs[1]} + {xs[2]}",
    )


def _of_channels(t: Tensor, rank: int) -> Tensor:
    """The tensor t of a number for each channel, with axes added so that it fits a tensor of `rank`
    axes."""
    shape = (t.kind.elements, *(1,) * (rank - 2))
    array = None if t.array is None else t.array.reshape(shape)
    return Tensor(t.name, Kind(t.kind.dtype, shape), array=array)


def number_by_number(site: Site, which: Sequence[int], of: Text) -> Step:
    """The step that applies a function to the inputs number `which`, number by number; `of` gives
    the function's text from the texts of the numbers. Refused unless they are floats."""
    return _over(site, [site.tensor(n) for n in which], of)


def _over(site: Site, tensors: Sequence[Tensor], of: Text) -> Step:
    if {t.kind.dtype for t in tensors} != {"float32"}:
        found = ", ".join(sorted({t.kind.dtype for t in tensors}))
        raise site.refused(
            f"expected numbers of the type float32, found numbers of the type {found}"
        )
    return over_tensors(site, tensors, of, "float32")


def over_tensors(site: Site, tensors: Sequence[Tensor], of: Text, dtype: str) -> Step:
    """The step that applies a function to tensors, number by number; `of` gives the function's
    text, `dtype` is the type of the results. Refused if ONNX does not broadcast the shapes."""
    try:
        shape = np.broadcast_shapes(*(t.shape for t in tensors))
    except ValueError as error:
        shapes = ", ".join(str(list(t.shape)) for t in tensors)
        raise site.refused(
            f"expected shapes that can be broadcast to one, found {shapes}"
        ) from error
    operands = [_operand(site, t, len(shape)) for t in tensors]
    kind = Kind(dtype, tuple(int(n) for n in shape))
    rank = len(site.layout.stored(shape))
    if any(o.turned for o in operands):
        axes = [(axis, axis + 1) for axis in range(rank)]
    else:
        axes = _merged([o.dims for o in operands if o.dims is not None], rank)
    named = [o.named(site, axes) for o in operands]
    f = function_of(site.attribute("epilogue", ()))
    if f == IDENTITY:
        return site.as_stored(kind, _nest(named, count(), of))
    body = f.removeprefix("y -> ")
    return site.as_stored(kind, _nest(named, count(), lambda xs: f"let y = {of(xs)}\n{body}"))


@frozen
class _Operand:
    """An operand of a function that is applied number by number: a single number (`dims` is None),
    or a tensor with its sizes in the order in which the result's axes lie. It is `turned` if it
    lies in another layout than the result; `shape` is its shape with as many axes as the result."""

    tensor: Tensor
    dims: tuple[int, ...] | None  # None: one number, written in the program
    shape: tuple[int, ...] = ()
    turned: bool = False

    def named(self, site: Site, axes: Sequence[tuple[int, int]]) -> "tuple[str, tuple[int, ...]]":
        """The text of the operand, and its sizes along `axes`, each a range of axes that are
        treated as one; no sizes for a single number."""
        t = self.tensor
        if self.dims is None:
            assert t.array is not None
            return literal(t.array), ()
        if self.turned:
            return self._turned(site), self.dims
        dims = tuple(int(np.prod(self.dims[a:b])) for a, b in axes)
        given = t.name if t.array is None else t.array
        return site.parameter(t.kind.dtype, dims, given), dims

    def _turned(self, site: Site) -> str:
        """The text of a tensor in the result's layout, in which it does not lie."""
        t, shape = self.tensor, self.shape
        e, rank, own = site.parameter(t.kind.dtype, t.stored, t.name), len(shape), len(t.shape)
        if own == rank:
            order = channels_last(rank)
            return site.layout.laid(t.layout.read(e, rank, order), rank, order)
        numbers = flat(t.layout.read(e, own, tuple(range(own))), own)
        if site.layout.as_onnx(shape):
            return shaped(numbers, site.layout.stored(shape))
        return site.layout.laid(shaped(numbers, shape), rank, tuple(range(rank)))


def _operand(site: Site, t: Tensor, rank: int) -> _Operand:
    """The tensor t as an operand, with the result's number of axes (`rank`)."""
    if t.array is not None and t.kind.elements == 1:
        return _Operand(t, None)
    shape = (*(1,) * (rank - len(t.shape)), *t.shape)
    dims = site.layout.stored(shape)
    if t.array is not None:
        array = site.layout.lies(t.array.reshape(shape))
        return _Operand(Tensor(t.name, Kind.of(array), array=array), dims)
    if len(t.shape) < rank and t.layout.as_onnx(t.shape):
        t = Tensor(t.name, Kind(t.kind.dtype, shape))
    alike = t.layout.as_onnx(t.shape) and site.layout.as_onnx(shape)
    turned = len(t.shape) < rank or (t.layout is not site.layout and not alike)
    return _Operand(t, dims, shape, turned)


def _merged(every: Sequence[tuple[int, ...]], rank: int) -> list[tuple[int, int]]:
    """The ranges (first, end) of neighbouring axes that can be treated as one axis: along them each
    operand has either all elements or one. `every` are the operands' sizes."""
    kinds = [tuple(dims[axis] > 1 for dims in every) for axis in range(rank)]
    ranges: list[tuple[int, int]] = []
    for axis, kind in enumerate(kinds):
        if not any(kind) and ranges:  # an axis of one element goes with any other
            ranges[-1] = (ranges[-1][0], axis + 1)
        elif ranges and kinds[ranges[-1][0]] in (kind, tuple(False for _ in kind)):
            ranges[-1] = (ranges[-1][0], axis + 1)
            kinds[ranges[-1][0]] = kind
        else:
            ranges.append((axis, axis + 1))
    return ranges or [(0, 0)]


def _nest(operands: Sequence[tuple[str, tuple[int, ...]]], names: "count[int]", of: Text) -> str:
    """The text of nested maps over the operands (text, sizes), one for each axis, with `of` applied
    to their numbers; an operand with one element along an axis is read without a map. `names` gives
    numbers for new variables."""
    left = max(len(dims) for _, dims in operands)
    if left == 0:
        return of([e for e, _ in operands])
    longest = max(dims[0] for _, dims in operands if dims)
    inner, over = [], []
    for e, dims in operands:
        if dims and dims[0] == longest:
            name = f"a{next(names)}"
            over.append((name, e))
            inner.append((name, dims[1:]))
        else:
            inner.append((f"at(0, {e})" if dims else e, dims[1:]))
    body = _nest(inner, names, of)
    if len(over) == 1:
        return f"map({over[0][0]} -> {body}, {over[0][1]})"
    pattern, arrays = ", ".join(n for n, _ in over), ", ".join(e for _, e in over)
    return f"map(({pattern}) -> {body}, zip({arrays}))"
