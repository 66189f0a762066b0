"""Operators on quantised numbers: whole numbers with a scale and a zero point."""

# key: m results of a pixel, c channels, xs ws ys scales, xz wz yz zero points

from collections.abc import Sequence
from math import prod

import numpy as np

from explore.onnx_model.onnx_graph import SCALARS, Array, Kind
from explore.operators.convolution_layers import biases_text, weights_text
from explore.operators.matrix_layers import matrices_text, product_shape
from explore.operators.number_by_number import over_tensors
from explore.operators.program_text import literal
from explore.operators.site import Site, Step, Tensor
from explore.operators.window_places import image_text, over_images, windows_of

BYTES = ("int8", "uint8")
WHOLE = (*BYTES, "int16", "uint16")
SHIFTS = range(-31, 31)  # of multipliers q 2^(shift - 31)


def quantise(site: Site) -> Step:
    """The step of a `QuantizeLinear`: round(x / scale) + zero point, ties to even."""
    site.demand_floats(0, 1)
    tensors = _with_axis(site)
    made = site.tensor(2).kind.dtype if site.has(2) else "uint8"
    if made not in WHOLE or (not site.has(2) and site.attribute("output_dtype", 0)):
        found = f"numbers of the type {made}" if site.has(2) else "none, but output_dtype"
        raise site.refused(
            f"expected a zero point of one of the types {', '.join(WHOLE)}, found {found}"
        )
    sat = f"{SCALARS[made]}_sat"
    whole = "short_sat_rte({})" if made in BYTES else "long(int_sat_rte({}))"  # the sum fits it

    def of(xs: Sequence[str]) -> str:
        rounded = whole.format(f"{xs[0]} / {xs[1]}")
        return f"{sat}({rounded}{f' + {xs[2]}' if len(xs) > 2 else ''})"

    return over_tensors(site, tensors, of, made)


def dequantise(site: Site) -> Step:
    """The step of a `DequantizeLinear`: (x - zero point) times scale."""
    x = site.tensor(0)
    site.demand_floats(1)
    if x.kind.dtype not in (*WHOLE, "int32"):
        raise site.refused(
            f"expected numbers of the types {', '.join(WHOLE)} or int32, found numbers of the type "
            f"{x.kind.dtype}"
        )

    def of(xs: Sequence[str]) -> str:
        return f"float({xs[0]}{f' - {xs[2]}' if len(xs) > 2 else ''}) * {xs[1]}"

    return over_tensors(site, _with_axis(site), of, "float32")


def _with_axis(site: Site) -> list[Tensor]:
    """The tensors that a `QuantizeLinear` or `DequantizeLinear` reads: x, and its scale and zero
    point, shaped so that they fit x as a whole or one axis of it."""
    x = site.tensor(0)
    rank, axis = len(x.shape), int(site.attribute("axis", 1))
    if site.attribute("block_size", 0):
        raise site.refused(
            "expected one scale, or one for each channel; found a scale for each block"
        )
    found = [x]
    for t in (site.tensor(n) for n in (1, 2) if site.has(n)):
        shape = [1] * rank
        if t.kind.elements > 1:
            if len(t.shape) > 1 or not -rank <= axis < rank or t.shape[0] != x.shape[axis]:
                raise site.refused(
                    "expected scales and zero points of one number, or of one for each element "
                    f"along axis {axis} of {list(x.shape)}; found {list(t.shape)}"
                )
            shape[axis % rank] = t.shape[0]
        array = None if t.array is None else t.array.reshape(shape)
        found.append(Tensor(t.name, Kind(t.kind.dtype, tuple(shape)), array=array))
    return found


def qlinear_conv(site: Site) -> Step:
    """The step of a `QLinearConv`: sums of products of whole numbers, scaled and rounded to bytes
    again."""
    m = site.tensor(3).shape[0]
    f, scales = _requantised(site, (1, 4, 6), 7, m, _groups(site))
    return _convolution(site, (3, 2, 5, 8), (f, scales), site.tensor(7).kind.dtype)


def conv_integer(site: Site) -> Step:
    """The step of a `ConvInteger`: sums of products of whole numbers, as ints."""
    return _convolution(site, (1, 2, 3, 4), ("(some, acc) -> acc", None), "int32")


def _groups(site: Site) -> int:
    return int(site.attribute("group", 1))


def _convolution(
    site: Site, inputs: tuple[int, int, int, int], made: tuple[str, str | None], dtype: str
) -> Step:
    """The step of a convolution of bytes, with results of the type `dtype`. `inputs` are the
    numbers of the inputs for the weights, the zero point of the image, those of the weights, and
    the biases. `made` are two texts: the function that makes a result of a scale and a sum, and the
    scales (None: the function ignores its scale)."""
    weights, image_zero, weights_zero, biases = inputs
    x, w, groups = site.tensor(0), site.tensor(weights), _groups(site)
    _demand_bytes(site, 0, weights)
    if not 3 <= len(x.shape) <= 4 or len(w.shape) != len(x.shape):
        raise site.refused(
            f"expected an array of 3 or 4 axes and weights of as many, found {len(x.shape)} and "
            f"{len(w.shape)}"
        )
    batch, c, *spatial = x.shape
    m = w.shape[0]
    if groups < 1 or c != w.shape[1] * groups or m % groups:
        raise site.refused(
            f"expected weights of {c} channels in {groups} groups, found the shape {list(w.shape)}"
        )
    _demand_sums_fit(site, prod(w.shape[1:]), (0, image_zero), (weights, weights_zero))
    windows = windows_of(site, spatial, w.shape[2:], ceil=False)
    image, many = image_text(site, 0)
    zero = _one(site, image_zero, x.kind.dtype)
    kernels = weights_text(site, weights, groups)
    zeros = each_text(site, weights_zero, m, groups, w.kind.dtype)
    added = biases_text(site, biases, m, groups, "int32")
    f, scales = made
    parts = f"{kernels}, {zeros}, {added}, {scales or added}"
    way = "grouped_whole_conv2d" if groups > 1 else "whole_conv2d"

    def of(image: str) -> str:
        padded = windows.padded(image, f"{SCALARS[x.kind.dtype]}({zero})")
        return f"{way}({f}, {zero}, {windows.taps}, {windows.text}, {parts}, {padded})"

    kind = Kind(dtype, (batch, m, *windows.counts[-len(spatial) :]))
    return site.as_stored(kind, over_images(site, image, many, windows.rank, of))


def _demand_bytes(site: Site, *inputs: int) -> None:
    for n in inputs:
        if site.tensor(n).kind.dtype not in BYTES:
            raise site.refused(
                f"expected numbers of the types {' or '.join(BYTES)}, found numbers of the type "
                f"{site.tensor(n).kind.dtype}"
            )


def _demand_sums_fit(site: Site, products: int, *operands: tuple[int, int]) -> None:
    """Refuse the node if an int may not hold the sum of so many products of bytes. `operands` are
    the numbers of the inputs that are multiplied, each with that of its zero points."""
    if products * prod(_farthest(site, *each) for each in operands) >= 1 << 31:
        raise site.refused(
            f"expected sums that an int holds, found sums of {products} products of bytes"
        )


def _farthest(site: Site, n: int, zeros: int) -> int:
    """The largest distance of a byte of input n from its zero points, input `zeros`."""
    info = np.iinfo(site.tensor(n).kind.dtype)
    known = site.tensor(zeros).array if site.has(zeros) else np.zeros(1, np.int8)
    if known is None:
        return int(info.max - info.min)
    return max(int(info.max) - int(known.min()), int(known.max()) - int(info.min))


def _one(site: Site, n: int, dtype: str) -> str:
    """The text of the single number of input n, such as a zero point, which must be of the type
    `dtype`; 0 if the node has no input n."""
    if not site.has(n):
        return "0i"
    t = site.tensor(n)
    if t.kind.elements != 1 or t.kind.dtype != dtype:
        raise site.refused(
            f"expected one number of the type {dtype} as input {n}, found {t.kind.elements} "
            f"numbers of the type {t.kind.dtype}"
        )
    if t.array is not None:
        return literal(t.array)
    return f"at(0, {site.parameter(dtype, (1,), t.name)})"


def each_text(site: Site, n: int, m: int, groups: int, dtype: str) -> str:
    """The text of a number of the type `dtype` for each of the m results, in a list for each group
    if there are several. Input n has m numbers, or one for all; zeros if the node has no input
    n."""
    dims = [m] if groups == 1 else [groups, m // groups]
    if not site.has(n):
        return site.constant(np.zeros(dims, dtype))
    t = site.tensor(n)
    if t.kind.elements not in (1, m) or t.kind.dtype != dtype:
        raise site.refused(
            f"expected 1 or {m} numbers of the type {dtype} as input {n}, found "
            f"{t.kind.elements} numbers of the type {t.kind.dtype}"
        )
    if t.array is not None:
        return site.constant(np.broadcast_to(t.array.reshape(-1), (m,)).reshape(dims))
    if t.kind.elements == m:
        return site.parameter(dtype, dims, t.name)
    e = f"at(0, {site.parameter(dtype, (1,), t.name)})"
    for size in reversed(dims):
        e = f"generate({size}, each -> {e})"
    return e


def _requantised(
    site: Site, scales: tuple[int, int, int], zero: int, m: int, groups: int
) -> tuple[str, str]:
    """Two texts: the function that makes a byte of a scale and a sum, and the scales of the m
    results. `scales` are the numbers of the inputs with the scales of x, w and y, `zero` that of
    y's zero point.

    Scales that are constants become multipliers of whole numbers, which round as exact numbers
    do."""
    _demand_scales(site, scales)
    dtype = site.tensor(zero).kind.dtype
    if dtype not in BYTES:
        raise site.refused(
            f"expected results of the types {' or '.join(BYTES)}, found numbers of the type {dtype}"
        )
    sat, yz = f"{SCALARS[dtype]}_sat", _one(site, zero, dtype)
    arrays = [site.tensor(n).array for n in scales]
    if not any(a is None for a in arrays):
        xs, ws, ys = (np.asarray(a, np.float32).reshape(-1) for a in arrays)
        qs, shifts = _multipliers(site, np.broadcast_to(xs * ws / ys, (m,)))
        dims = (m,) if groups == 1 else (groups, m // groups)
        texts = [site.constant(a.reshape(dims)) for a in (qs, shifts)]
        together = "zip({}, {})" if groups == 1 else "zip2d({}, {})"
        f = f"((q, shift), acc) -> {sat}(requantise_even(acc, q, shift, {yz}) + {yz})"
        return f, together.format(*texts)
    x, y = (_one(site, n, "float32") for n in (scales[0], scales[2]))
    w = each_text(site, scales[1], m, groups, "float32")
    return f"(scale, acc) -> {sat}(short_sat_rte(float(acc) * ({x} * scale / {y})) + {yz})", w


def _demand_scales(site: Site, scales: Sequence[int]) -> None:
    for n in scales:
        if site.tensor(n).kind.dtype != "float32":
            raise site.refused(
                "expected scales of the type float32, found scales of the type "
                f"{site.tensor(n).kind.dtype}"
            )


def _multipliers(site: Site, scale: Array) -> tuple[Array, Array]:
    """The scales as pairs of whole numbers: arrays q and shift, with scale = q · 2^(shift - 31)."""
    fraction, exponent = np.frexp(scale)
    if scale.min() <= 0 or exponent.min() not in SHIFTS or exponent.max() not in SHIFTS:
        raise site.refused(
            "expected scales of inputs, divided by that of the result, from 2^-32 to below 2^30; "
            f"found {scale.min():g} to {scale.max():g}"
        )
    return (fraction.astype(np.float64) * 2**31).astype(np.int32), exponent.astype(np.int32)


def qlinear_mat_mul(site: Site) -> Step:
    """The step of a `QLinearMatMul`."""
    columns = site.tensor(3).shape[-1]
    made = _requantised(site, (1, 4, 6), 7, columns, 1)
    return _product(site, (3, 2, 5), made, site.tensor(7).kind.dtype)


def mat_mul_integer(site: Site) -> Step:
    """The step of a `MatMulInteger`."""
    return _product(site, (1, 2, 3), ("(some, acc) -> acc", None), "int32")


def _product(
    site: Site, inputs: tuple[int, int, int], made: tuple[str, str | None], dtype: str
) -> Step:
    """The step of a product of matrices of bytes, with results of the type `dtype`. `inputs` are
    the numbers of the inputs for the second matrix, and the zero points of the first and the
    second. `made` are two texts: the function that makes a result of a scale and a sum, and the
    scales (None: the function ignores its scale)."""
    second, left_zero, right_zero = inputs
    _demand_bytes(site, 0, second)
    a, b = site.tensor(0), site.tensor(second)
    shape, many, (m, k, n) = product_shape(site, a.shape, b.shape)
    _demand_sums_fit(site, k, (0, left_zero), (second, right_zero))
    x = matrices_text(site, 0, many[0], (m, k))
    y = matrices_text(site, second, many[1], (k, n))
    zero = _one(site, left_zero, a.kind.dtype)
    zeros = each_text(site, right_zero, n, 1, b.kind.dtype)
    f, scales = made
    site.demand_onnx_order()

    def one(p: str, q: str) -> str:
        return f"whole_product({f}, {zero}, {p}, transpose({q}), {zeros}, {scales or zeros})"

    match [e > 1 for e in many]:
        case [True, True]:
            e = f"map((p, q) -> {one('p', 'q')}, zip({x}, {y}))"
        case [True, False]:
            e = f"map(p -> {one('p', y)}, {x})"
        case [False, True]:
            e = f"map(q -> {one(x, 'q')}, {y})"
        case _:
            e = one(x, y)
    return site.as_stored(Kind(dtype, shape), e)
