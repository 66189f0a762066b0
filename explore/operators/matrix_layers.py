"""Steps of products of matrices."""

import numpy as np

from explore.onnx_model.onnx_graph import Array, Kind
from explore.operators.convolution_layers import epilogue
from explore.operators.layouts import Layout
from explore.operators.program_text import joined_axes, number
from explore.operators.site import Site, Step


def gemm(site: Site) -> Step:
    """The step of a `Gemm`: alpha A B + beta C."""
    site.demand_floats(0, 1, 2)
    a, b = site.tensor(0), site.tensor(1)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise site.refused(
            f"expected two matrices, found arrays of {len(a.shape)} and {len(b.shape)} axes"
        )
    turned_a, turned_b = (bool(site.attribute(f"trans{s}", 0)) for s in "AB")
    m, k = a.shape[::-1] if turned_a else a.shape
    n = b.shape[0] if turned_b else b.shape[1]
    if k != b.shape[1 if turned_b else 0]:
        raise site.refused(
            "expected matrices that can be multiplied, found the shapes "
            f"{list(a.shape)} and {list(b.shape)}"
        )
    alpha = float(site.attribute("alpha", 1.0))
    rows = f"transpose({site.stored(0)})" if turned_a else site.stored(0)
    if b.array is not None:
        columns = np.asarray(b.array if turned_b else b.array.T, np.float32) * np.float32(alpha)
        right, factor = site.constant(columns), ""
    else:
        right = site.stored(1) if turned_b else f"transpose({site.stored(1)})"
        factor = "" if alpha == 1.0 else f" * {number(alpha)}"
    kind = Kind("float32", (m, n))
    return site.step(kind, _with_biases(site, (rows, right, factor), (m, n)))


def _with_biases(site: Site, parts: tuple[str, str, str], shape: tuple[int, int]) -> str:
    """The text of the product of `parts` (rows, columns, and the text of a factor) plus the node's
    biases; `shape` is that of the result."""
    rows, columns, factor = parts
    f = epilogue(site)
    constant = _constant_biases(site, shape)
    if constant is not None and not factor:
        return f"matrix_and_biases({f}, {rows}, {columns}, {site.constant(constant)})"
    beta = float(site.attribute("beta", 1.0))
    of = f.removeprefix("y -> ")
    if not site.has(2):
        return _spelt(of, rows, columns, f"dot(row, column){factor}")
    c = site.tensor(2)
    dims = (*(1,) * (2 - len(c.shape)), *c.shape)
    if any(have not in (1, want) for have, want in zip(dims, shape, strict=True)):
        raise site.refused(
            f"expected biases for a result of {list(shape)}, found biases of {list(c.shape)}"
        )
    whole = c.name if c.array is None else c.array.reshape(dims)
    biases = site.parameter("float32", dims, whole)
    product = f"dot(row, column){factor} + {number(beta)} * bias"
    line = "biases" if dims[0] > 1 else f"at(0, {biases})"
    outer = ("(row, biases) -> ", f"zip({rows}, {biases})") if dims[0] > 1 else ("row -> ", rows)
    if dims[1] > 1:
        inner = f"map((column, bias) -> let y = {product}\n{of}, zip({columns}, {line}))"
    else:
        inner = f"let bias = at(0, {line}) map(column -> let y = {product}\n{of}, {columns})"
    return f"map({outer[0]}{inner}, {outer[1]})"


def _spelt(of: str, rows: str, columns: str, product: str) -> str:
    inner = f"map(column -> let y = {product}\n{of}, {columns})"
    return f"map(row -> {inner}, {rows})"


def _constant_biases(site: Site, shape: tuple[int, int]) -> Array | None:
    """The bias of each column, if the biases are constants and the same for all rows; zeros if the
    node has none; else None."""
    if not site.has(2):
        return np.zeros(shape[1], np.float32)
    c = site.tensor(2)
    if (
        c.array is None
        or c.kind.elements not in (1, shape[1])
        or (c.shape[:1] == (shape[0],) and len(c.shape) == 2 and shape[0] > 1)
    ):
        return None
    beta = np.float32(site.attribute("beta", 1.0))
    return np.broadcast_to(c.array.reshape(-1) * beta, (shape[1],)).astype(np.float32)


def product_shape(
    site: Site, a: tuple[int, ...], b: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, int], tuple[int, int, int]]:
    """For arrays of the shapes a and b: the shape of their product, the number of matrices of each,
    and the sizes (m, k, n) of a single product. Refused if they do not fit."""
    left, right = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    if left[-1] != right[-2]:
        raise site.refused(
            f"expected matrices that can be multiplied, found the shapes {list(a)} and {list(b)}"
        )
    try:
        many = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError as error:
        raise site.refused(
            f"expected as many matrices on both sides, or one, found the shapes {list(a)} and "
            f"{list(b)}"
        ) from error
    n, m, k, columns = int(np.prod(many)), left[-2], left[-1], right[-1]
    each = [int(np.prod(s[:-2])) for s in (left, right)]
    if any(e not in (1, n) for e in each):
        raise site.refused(
            "expected that only one side is repeated for the other, found the shapes "
            f"{list(a)} and {list(b)}, each of which is"
        )
    shape = (*many, *((m,) if len(a) > 1 else ()), *((columns,) if len(b) > 1 else ()))
    return tuple(int(x) for x in shape), (each[0], each[1]), (m, k, columns)


def mat_mul(site: Site) -> Step:
    """The step of a `MatMul` of vectors or matrices, or of several matrices on one side or on
    both."""
    site.demand_floats(0, 1)
    a, b = site.tensor(0).shape, site.tensor(1).shape
    shape, each, (m, k, columns) = product_shape(site, a, b)
    kind, n = Kind("float32", shape), max(each)
    x = matrices_text(site, 0, each[0], (m, k))
    y = matrices_text(site, 1, each[1], (k, columns))
    if n == 1:
        return (
            site.step(kind, _product(x, y))
            if len(kind.shape) < 3
            else _as_it_lies(site, kind, _product(x, y))
        )
    over = [name for name, e in zip((("p", x), ("q", y)), each, strict=True) if e > 1]
    p, q = ("p" if each[0] > 1 else x), ("q" if each[1] > 1 else y)
    inside = _product(p, q)
    if len(over) == 2:
        return _as_it_lies(site, kind, f"map((p, q) -> {inside}, zip({x}, {y}))")
    return _as_it_lies(site, kind, f"map({over[0][0]} -> {inside}, {over[0][1]})")


def _product(x: str, y: str) -> str:
    return f"matrix_product({x}, transpose({y}))"


def matrices_text(site: Site, n: int, each: int, shape: tuple[int, int]) -> str:
    """The text of input n as one matrix of this shape, or, if `each` is more than 1, as a list of
    `each` such matrices."""
    t = site.tensor(n)
    dims = shape if each == 1 else (each, *shape)
    if t.layout is not Layout.ONNX:
        return joined_axes(site.logical(n), len(t.shape) - len(dims) + 1)
    given = t.name if t.array is None else t.array.reshape(dims)
    return site.parameter(t.kind.dtype, dims, given)


def _as_it_lies(site: Site, kind: Kind, e: str) -> Step:
    """The step of e, whose numbers are in ONNX's order; Refused if the result shall have another
    layout."""
    site.demand_onnx_order()
    return site.as_stored(kind, e)
