"""Random terms to which the laws of sums over rows and of their Fourier transforms apply."""

# key: g source of terms, n m v sizes, z w complex numbers

from collections.abc import Callable

from ir.core.nodes import (
    Edge,
    Expr,
    Lit,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Reduce,
    Slide,
    Transpose,
    Var,
    Zip,
)
from ir.core.terms import lam, lam2
from ir.core.type_rules import elem_of, type_of
from ir.core.types import FLOAT, Array, Type
from ir.parse import parse
from rewrites.engine.rule import Rule
from rewrites.engine.strategy import seq
from rewrites.fast_algorithms import by_rows as over_rows
from rewrites.fast_algorithms import by_spectra
from rewrites.fast_algorithms import sums_of_spectra as spectra
from rewrites.fast_algorithms.by_columns import by_columns
from rewrites.fast_algorithms.by_rows import added, adding, slid, zeros
from rewrites.fast_algorithms.by_windows import by_windows, sum_of
from rewrites.fast_algorithms.by_windows import slid as windowed_sums
from rewrites.fast_algorithms.dft_terms import COMPLEX, ZERO, dft, irdft, planes
from rewrites.fast_algorithms.sums_of_spectra import of_planes
from rewrites.nest.normal_form import normalise
from rewrites.nest.reshape import sort
from rewrites.nest.spine import strip
from rewrites.transforms.sums_over_tiles import by_numbered_tiles, by_parts_of_tiles
from tests.support.instances import Instance, plain
from tests.support.random_terms import Terms


def windows_of_rows(g: Terms) -> Expr:
    """A random sum of products of taps with windows, in one dimension or two, with a step, a gap
    between taps, and padding."""
    k, s, d, p, c = g.size(1, 3), g.size(1, 3), g.size(1, 2), g.size(0, 2), g.size(1, 2)
    w, n = max(1, d * (k - 1) + 1 - 2 * p) + g.size(0, 4), g.size(1, 2)
    channels = parse(
        "f(weights : [[[[float]C]K]K]M, image : [[[float]C]W]W) = "
        "map(rows -> map(window -> map(kernel -> "
        "reduce(0.0, (a, (r, t)) -> reduce(a, (b, (x, y)) -> reduce(b, (e, (u, v)) -> e + u * v, "
        "zip(x, y)), zip(r, t)), zip(dilate2d(D, window), kernel)), weights), rows), "
        "slide2d(D * (K - 1) + 1, S, pad2d(P, 0.0, image))) "
        f"where C = {c}, K = {k}, M = {n}, W = {w}, S = {s}, D = {d}, P = {p}"
    )
    done = seq(normalise, sort((0, 2, 1)))(channels.body)
    assert done is not None
    for param in channels.params:
        g.params[param.var.name] = param.var.type
    return strip(done[0])


def windows_of_planes(g: Terms) -> Expr:
    """A random sum of products of taps with windows of planes, of numbers or of channels.

    There may be a bias, or groups of channels; elements of a window may be up to three apart; maps
    are in any order.
    """
    k, l, p = g.size(1, 3), g.size(1, 3), g.size(0, 2)
    d, b = g.size(1, 3), g.size(1, 3)
    w, n = max(d * k, b * l) + g.size(1, 4), g.size(1, 2)
    image, order = g.one_of(("row", (1, 0)), ("plane", (2, 0, 1)), ("groups", (1, 2, 0)))
    texts = {
        "row": "f(weights : [[float]K]M, b : float, image : [float]W) = "
        "map(w -> map(t -> dot(join(slide(1, D, w)), t) + b, weights), "
        "slide(D * (K - 1) + 1, 1, pad(P, P, 0.0, image)))",
        "plane": "f(weights : [[[float]L]K]M, b : float, image : [[float]W]W) = "
        "map2d(w -> map(t -> max(b, dot(flatten(dilate2d((D, B), w)), flatten(t))), weights), "
        "slide2d((D * (K - 1) + 1, B * (L - 1) + 1), 1, pad2d(P, 0.0, image)))",
        "groups": "f(weights : [[[[float]L]K]M]2, b : float, image : [[float](2 * L)]W) = "
        "map(w -> map((part, ts) -> map(t -> max(b, dot(flatten(part), flatten(t))), ts), "
        "zip(transpose(map(x -> split(L, x), w)), weights)), "
        "slide(K, 1, pad(P, P, 0.0, image)))",
    }
    k = max(k, 2)
    text = texts[image].replace("L", str(max(l, 2)))
    planes = parse(f"{text} where K = {k}, M = {n}, W = {w}, P = {p}, D = {d}, B = {b}")
    done = seq(normalise, sort(order))(planes.body)
    assert done is not None
    for param in planes.params:
        g.params[param.var.name] = param.var.type
    return strip(done[0])


def slid_row(g: Terms) -> Expr:
    """A random sum of products of a row with windows of another row, which may be padded. Numbers
    are real; or they are complex, their real and imaginary parts in an array each."""
    v, n = g.size(1, 5), g.size(0, 4)
    left, right = g.size(0, 3), g.size(0, 3)
    size = max(1, v + n - left - right)
    if g.one_of(True, False):
        x, taps = g.xs(FLOAT, size), g.xs(FLOAT, v)
        value: Expr = Lit(g.one_of(0.0, 0.0, 1.0), FLOAT)
    else:
        x, taps = (Zip((g.xs(FLOAT, k), g.xs(FLOAT, k))) for k in (size, v))
        value = MakeTuple((Lit(0.0, FLOAT), Lit(g.one_of(0.0, 0.0, 1.0), FLOAT)))
    return slid(Pad(left, right, value, x) if left or right else x, taps)


def sum_of_linear(g: Terms) -> Expr:
    """A random term reduce 0 (acc + f x) xs, for a linear f."""
    n, m = g.size(1, 3), 2 * g.size(1, 3)
    kind = g.one_of("crop", "irdft", "idft")
    elem = Array(FLOAT, m) if kind == "crop" else Array(COMPLEX, m // 2 + 1)
    xs = g.xs(elem, n)

    def linear(x: Expr) -> Expr:
        if kind == "crop":
            return PadEdge(Edge.ANY, -1, 0, x)
        return irdft(x, m) if kind == "irdft" else dft(x, m // 2 + 1, 1)

    t = type_of(linear(Var("_", elem)))
    step = lam2(("acc", "x"), (t, elem), lambda acc, x: added(acc, linear(x)))
    return Reduce(zeros(t), step, xs)


def spectra_sum(g: Terms) -> Expr:
    """A random term reduce 0 (acc + z conj w), over one dimension or two, for arrays z and w or
    views of arrays."""
    n, sums = g.size(), g.size(1, 2)
    t = Array(Array(FLOAT, n), 2)
    for _ in range(sums):
        t = Array(t, g.size())
    zs, ws = (g.one_of(plainly, turned_over, cut_out)(g, t) for _ in range(2))
    return adding(zeros(Array(COMPLEX, n)), zs, ws, sums, of_planes)


def plainly(g: Terms, t: Array) -> Expr:
    return g.param(t)


def turned_over(g: Terms, t: Array) -> Expr:
    """A random term of type t: a parameter, transposed."""
    assert isinstance(t.elem, Array)
    return Transpose(g.param(Array(Array(t.elem.elem, t.size), t.elem.size)))


def cut_out(g: Terms, t: Array) -> Expr:
    """A random term of type t: a part of a larger parameter."""
    l, r = g.rng.randrange(3), g.rng.randrange(3)
    return PadEdge(Edge.ANY, -l, -r, g.param(Array(t.elem, t.size + l + r)))


def columns_of_spectra(g: Terms) -> Expr:
    """A random sum of products of spectra of rows, over the rows in windows of a column, with a
    step and padding."""
    v, c, n, step = g.size(1, 3), g.size(1, 2), g.size(1, 3), g.size(1, 2)
    number: Type = Array(Array(Array(FLOAT, n), 2), c)
    rows = g.param(Array(number, v + g.size(0, 3)))
    kernels = g.param(Array(Array(number, v), g.size(1, 2)))
    p = g.size(0, 1)
    windows = Slide(v, step, Pad(p, p, Lit(0.0, FLOAT), rows) if p else rows)

    def sums(window: Expr, kernel: Expr) -> Expr:
        return planes(adding(zeros(Array(COMPLEX, n)), window, kernel, 2, of_planes))

    def results(window: Expr) -> Expr:
        return Map(lam("kernel", elem_of(kernels), lambda k: sums(window, k)), kernels)

    return Map(lam("window", elem_of(windows), results), windows)


def over_images(g: Terms) -> Expr:
    """A random term for sums of products of a kernel with the windows of a row or plane, where the
    windows are not much smaller than the row or plane. There may be several kernels, and several
    rows or planes."""
    sizes = [g.one_of(4, 6, 8, 9) for _ in range(g.size(1, 2))]
    plane: Type = FLOAT
    kernel: Type = FLOAT
    for n in reversed(sizes):
        plane, kernel = Array(plane, n + g.size(1, n - 2)), Array(kernel, n)
    planes, kernels = g.one_of(True, False), g.one_of(True, False)
    xs = g.param(Array(plane, g.size(1, 3)) if planes else plane)
    taps = g.param(Array(kernel, g.size(1, 3)) if kernels else kernel)

    def results(w: Expr) -> Expr:
        if not kernels:
            return sum_of(ZERO, w, taps)
        return Map(lam("kernel", elem_of(taps), lambda k: sum_of(ZERO, w, k)), taps)

    if not planes:
        return windowed_sums(sizes, xs, results)
    return Map(lam("plane", elem_of(xs), lambda x: windowed_sums(sizes, x, results)), xs)


INSTANCES: dict[Rule, Callable[[Terms], Instance]] = {
    over_rows.by_rows: plain(windows_of_rows),
    by_windows: plain(windows_of_planes),
    by_numbered_tiles: lambda g: (over_images(g), {"side": g.size(1, 3)}),
    by_parts_of_tiles: lambda g: (over_images(g), {"side": g.size(1, 3), "part": g.size(1, 2)}),
    by_spectra.linear_sum: plain(sum_of_linear),
    by_spectra.correlate: plain(slid_row),
    by_columns: plain(columns_of_spectra),
    spectra.real_sums: plain(spectra_sum),
    spectra.three_sums: plain(spectra_sum),
    spectra.sums_in_planes: plain(spectra_sum),
}
