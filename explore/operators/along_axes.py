"""Operators along an axis: softmax, reductions, and the normalisation of each channel by its
neighbours."""

from math import prod

from explore.onnx_model.onnx_graph import Kind
from explore.operators.layouts import Layout
from explore.operators.program_text import flat, number, permuted, shaped, under
from explore.operators.rearrangements import _axes, _axis
from explore.operators.site import Site, Step

ONE_AXIS = 13  # the opset from which on softmax is along one axis

REDUCTIONS = {
    "ReduceMean": "average",
    "ReduceSum": "sum",
    "ReduceMax": "maximum",
    "ReduceMin": "minimum",
}


def softmax(site: Site) -> Step:
    """The step of a `Softmax` or `LogSoftmax`."""
    site.demand_floats(0)
    x = site.tensor(0)
    rank = len(x.shape)
    newer = site.opset >= ONE_AXIS
    axis = _axis(site, int(site.attribute("axis", -1 if newer else 1)), rank)
    f = "softmax_of" if site.node.operator == "Softmax" else "log_softmax_of"
    inner = prod(x.shape[axis + 1 :]) if newer else 1
    if {x.layout, site.layout} != {Layout.ONNX}:
        return _nested(site, f, axis, newer)
    n = x.shape[axis] if newer else prod(x.shape[axis:])
    outer = x.kind.elements // (n * inner)
    dims = [outer] * (outer > 1) + [n] + [inner] * (inner > 1)
    e = site.parameter("float32", dims, x.given)
    body = f"{f}({{}})"
    if inner > 1:
        body = f"transpose(map(line -> {f}(line), transpose({{}})))"
    if outer > 1:
        return site.as_stored(x.kind, f"map(part -> {body.format('part')}, {e})")
    return site.as_stored(x.kind, body.format(e))


def _nested(site: Site, f: str, axis: int, newer: bool) -> Step:
    """The step of a softmax, by the function f, where the input or the result does not lie in
    ONNX's order: along one axis, or, in an older opset (not `newer`), along all axes from `axis` on
    together."""
    x = site.tensor(0)
    rank = len(x.shape)
    if not newer and prod(x.shape[axis + 1 :]) > 1:
        inner = x.shape[axis:]

        def together(e: str) -> str:
            return shaped(f"{f}({flat(e, len(inner))})", inner)

        return site.step(x.kind, under(axis, together, site.logical(0)))
    order = (*(a for a in range(rank) if a != axis), axis)
    e = site.arranged(0, order)
    return site.step(x.kind, under(rank - 1, lambda line: f"{f}({line})", e), order)


def reduction(site: Site) -> Step:
    """The step of a reduction such as `ReduceMean`."""
    site.demand_floats(0)
    x = site.tensor(0)
    rank = len(x.shape)
    axes = _axes(site, 1, rank)
    if not axes:
        if site.attribute("noop_with_empty_axes", 0):
            raise site.refused("expected axes to reduce along, found none")
        axes = list(range(rank))
    kept = [a for a in range(rank) if a not in axes]
    order = (*kept, *sorted(axes))
    e = permuted(site.logical(0), order)
    f = REDUCTIONS[site.node.operator]
    keep = bool(site.attribute("keepdims", 1))
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keep or a not in axes)
    kind = Kind("float32", shape)
    if not kept:
        return site.as_stored(
            kind, f"map(all -> {f}({flat('all', rank)}), split({x.shape[0]}, {e}))"
        )
    e = under(len(kept), lambda all: f"{f}({flat(all, len(axes))})", e)
    if site.layout.as_onnx(shape):
        return site.as_stored(kind, e)
    return site.step(kind, shaped(flat(e, len(kept)), shape))


def local_response(site: Site) -> Step:
    """The step of an `LRN`: each channel is divided by a sum over the squares of its neighbouring
    channels."""
    site.demand_floats(0)
    x = site.tensor(0)
    if len(x.shape) != 4:
        raise site.refused(f"expected an array of 4 axes, found one of {len(x.shape)}")
    size, channels = int(site.attribute("size", 1)), x.shape[1]
    if size < 1:
        raise site.refused(f"expected a size of at least 1, found {size}")
    numbers = [
        site.attribute("bias", 1.0),
        site.attribute("alpha", 1e-4) / size,
        site.attribute("beta", 0.75),
    ]
    told = ", ".join(map(number, map(float, numbers)))
    order = (0, 2, 3, 1)
    e = site.arranged(0, order)
    before = (size - 1) // 2
    sides = min(before, channels), min(size - 1 - before, channels)  # beyond them nothing is left
    f = f"local_response({sides[0]}, {sides[1]}, {told}, pixel)"
    made = f"map(image -> map2d(pixel -> {f}, image), {e})"
    return site.step(x.kind, made, order)
