"""Random terms to which the laws of windows in tiles and of bilinear maps apply."""

# key: g source of terms, n m r s sizes, d data

from collections.abc import Callable

from ir.core.nodes import (
    At,
    Binary,
    Expr,
    Generate,
    Get,
    Lam,
    Lit,
    MakeArray,
    Map,
    Pad,
    Reduce,
    Slide,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import apply, lam, lam2, substitute
from ir.core.type_rules import elem_of
from ir.core.types import FLOAT, INT, Array, Tuple, Type
from rewrites.engine.rule import Rule
from rewrites.fast_algorithms import block_products as products
from rewrites.fast_algorithms import complex_products as complexes
from rewrites.fast_algorithms import constant_matrices as constant
from rewrites.fast_algorithms import fewer_products as bilinear
from rewrites.fast_algorithms import toeplitz as matrices
from rewrites.fast_algorithms.constant_matrices import dot
from rewrites.fast_algorithms.dft_terms import COMPLEX, ZERO, pair, plus, times
from rewrites.laws import maps, slides, views, zips
from rewrites.laws import reductions as folds
from rewrites.laws.views import swapped
from tests.support.instances import Instance, a_fold, a_nest, plain, rows
from tests.support.random_terms import OPERATORS, Terms

EXACT = ((2, 2), (2, 3), (3, 2))  # results and taps whose matrices are short in binary


def release_init(g: Terms) -> Expr:
    return (a_nest if g.rng.random() < 0.4 else a_fold)(g, rows(g), g.one_of(*OPERATORS))


def fewest_transposes(g: Terms) -> Expr:
    e = g.xs(Array(Array(Array(FLOAT, g.size()), g.size()), g.size()))
    for _ in range(g.size(2, 6)):
        e = swapped(e, g.rng.randrange(3))
    return e


def round_windows(g: Terms) -> Instance:
    n = g.size()
    scalar = g.scalar()
    elem = g.some_type(scalar, Array(scalar, 2))
    return Slide(n, 1, g.xs(elem, n + g.size(0, 4))), {"k": g.size(2, 4)}


def pad_twice(g: Terms) -> Expr:
    scalar = g.scalar()
    c = g.literal(scalar)
    inner = Pad(g.size(0, 2), g.size(0, 2), c, g.xs(scalar))
    return Pad(g.size(0, 2), g.size(0, 2), c, inner)


def windows_across(g: Terms) -> Expr:
    (n, s), (m, t) = _window(g), _window(g)
    xs = g.xs(Array(g.type(), n + s * g.size(0, 2)), m + t * g.size(0, 2))
    windows = Slide(m, t, xs)

    def body(row: Expr) -> Expr:
        slid = lam("row", elem_of(row), lambda x: Slide(n, s, x))
        across = Transpose(Map(slid, row))
        return Map(g.function(elem_of(across), g.type()), across)

    return Map(lam("rows", elem_of(windows), body), windows)


def planes_inside(g: Terms) -> Expr:
    """A random map over several planes, inside which a map goes over the windows of one plane; the
    windows' function is random."""
    plane = Array(Array(g.type(), 3 + g.size(0, 2)), 3 + g.size(0, 2))
    xs = g.xs(plane)
    (n, s), (m, t) = ((g.size(1, 3), g.size(1, 2)) for _ in range(2))

    def of_plane(x: Expr) -> Expr:
        windows = Slide(n, s, x)
        return Map(lam("rows", elem_of(windows), across), windows)

    def across(rows: Expr) -> Expr:
        slid = Transpose(Map(lam("row", elem_of(rows), lambda row: Slide(m, t, row)), rows))
        return Map(g.function(elem_of(slid), g.type()), slid)

    return Map(lam("plane", plane, of_plane), xs)


def windows_down(g: Terms) -> Expr:
    (n, s), (m, t) = _window(g), _window(g)
    xs = g.xs(Array(g.type(), m + t * g.size(0, 2)), n + s * g.size(0, 2))
    windows = Slide(n, s, xs)

    def body(columns: Expr) -> Expr:
        down = Slide(m, t, Transpose(columns))
        return Map(g.function(elem_of(down), g.type()), down)

    return Map(lam("columns", elem_of(windows), body), windows)


def _window(g: Terms) -> tuple[int, int]:
    return g.size(1, 3), g.size(1, 2)


# ---- bilinear maps


def fewer_products(g: Terms) -> Instance:
    """A random correlation in one dimension or two, of numbers or vectors; and the rule's
    arguments: how many results a tile has (m) and how many taps (r), along each dimension."""
    channels = g.one_of(0, 0, 3)
    elem: Type = Array(FLOAT, channels) if channels else FLOAT
    m, r = g.one_of(*EXACT)
    n, s = g.one_of(*EXACT)
    if g.rng.random() < 0.5:
        return _one(g, elem, m, r), {"m": (m,), "r": (r,)}
    return _two(g, elem, (m, r), (n, s)), {"m": (m, n), "r": (r, s)}


def _one(g: Terms, elem: Type, m: int, r: int) -> Expr:
    windows, taps = Slide(r, 1, g.xs(elem, m + r - 1)), g.xs(elem, r)
    flip = g.one_of(True, False)
    return Map(lam("w", elem_of(windows), lambda w: _sum(Lit(0.0, FLOAT), w, taps, flip)), windows)


def _two(g: Terms, elem: Type, down: tuple[int, int], across: tuple[int, int]) -> Expr:
    (m, r), (n, s) = down, across
    windows = Slide(r, 1, g.xs(Array(elem, n + s - 1), m + r - 1))
    taps, flip = g.xs(Array(elem, s), r), g.one_of(True, False)

    def body(row: Expr) -> Expr:
        slid = Transpose(Map(lam("row", elem_of(row), lambda x: Slide(s, 1, x)), row))
        sums = lam("w", elem_of(slid), lambda w: _sum(Lit(0.0, FLOAT), w, taps, flip))
        return Map(sums, slid)

    return Map(lam("rows", elem_of(windows), body), windows)


def replicate_taps(g: Terms) -> Expr:
    """A random map over windows (of numbers or of rows, at any step) to sums of products of a
    window and taps. The numbers of a window may go through a function before they are
    multiplied."""
    elem: Type = Array(FLOAT, g.size()) if g.rng.random() < 0.3 else FLOAT
    n, s = _window(g)
    windows = Slide(n, s, g.xs(elem, n + g.size(0, 5)))
    taps, flip, z = g.xs(elem, n), g.one_of(True, False), g.value(FLOAT)
    if isinstance(elem, Array) or g.rng.random() < 0.5:
        return Map(lam("w", elem_of(windows), lambda w: _sum(z, w, taps, flip)), windows)
    weigh = g.function(FLOAT, FLOAT)

    def step(acc: Expr, p: Expr) -> Expr:
        return Binary("+", Binary("*", apply(weigh, Get(1 - flip, p)), Get(flip, p)), acc)

    def body(w: Expr) -> Expr:
        pairs = Zip((w, taps) if flip else (taps, w))
        return Reduce(z, lam2(("acc", "p"), (FLOAT, elem_of(pairs)), step), pairs)

    return Map(lam("w", elem_of(windows), body), windows)


def constant_part(g: Terms) -> Expr:
    n = g.size()
    scalar = g.scalar()
    parts = [g.xs(n=n) for _ in range(g.size(1, 2))]
    same = Generate(n, lam("i", INT, lambda _: g.literal(scalar)))
    parts.insert(g.rng.randrange(len(parts) + 1), same)
    t = Tuple(tuple(map(elem_of, parts)))
    return Map(g.function(t, g.type()), Zip(tuple(parts)))


def unused_part(g: Terms) -> Expr:
    """A random map over a zip of two or three arrays, whose function reads one of them, or none."""
    n = g.size()
    parts = [g.xs(n=n) for _ in range(g.size(2, 3))]
    read = g.rng.randrange(len(parts) + 1)
    types = [elem_of(part) for part in parts]
    xs = [Var(f"x{i}", t) for i, t in enumerate(types)]
    body = g.value(FLOAT) if read == len(parts) else apply(g.function(types[read], FLOAT), xs[read])
    return Map(Lam(tuple(xs), body), Zip(tuple(parts)))


def _sum(z: Expr, w: Expr, taps: Expr, flip: bool) -> Expr:
    """The term for z plus the products of the window w with the taps, number by number; `flip`
    writes the taps as the first factor."""
    pairs = Zip((taps, w) if flip else (w, taps))

    def step(acc: Expr, p: Expr) -> Expr:
        x, h = (Var(name, elem_of(xs)) for name, xs in zip("xh", pairs.parts, strict=True))
        if isinstance(elem_of(w), Array):
            return _taken(p, x, h, _sum(acc, x, h, False))
        return _taken(p, x, h, Binary("+", acc, Binary("*", x, h)))

    return Reduce(z, lam2(("acc", "p"), (FLOAT, elem_of(pairs)), step), pairs)


def _taken(p: Expr, x: Var, h: Var, e: Expr) -> Expr:
    """The term e in which the two components of the pair p replace the variables x and h."""
    return substitute(e, {x.name: Get(0, p), h.name: Get(1, p)})


def spell_rows(g: Terms) -> Expr:
    n = g.size(1, 4)
    numbers = [[g.one_of(0.0, 1.0, -1.0, 2.0, 0.5) for _ in range(n)] for _ in range(g.size())]
    table = MakeArray(tuple(MakeArray(tuple(Lit(x, FLOAT) for x in row)) for row in numbers))
    xs = g.xs(FLOAT, n)
    return Map(lam("row", elem_of(table), lambda row: dot(row, xs)), table)


def divide_matrix(g: Terms) -> Expr:
    """A random product of a constant matrix and an array, for the rule that shares sums: two rows
    of the matrix, or two columns, have the same numbers but for their signs."""
    n, halves = g.size(3, 5), [1.0, -1.0, 2.0, -4.0, 0.75]
    row = [g.one_of(*halves) for _ in range(n)]
    signs = [1, -1, *(g.one_of(1, -1) for _ in range(n - 2))]
    pairs = [row, [s * x for s, x in zip(signs, row, strict=True)]]
    more = [[g.one_of(0.0, *halves) for _ in range(n)] for _ in range(g.size(0, 2))]
    numbers = g.one_of([*pairs, *more], [*more, *pairs])
    if g.rng.random() < 0.3:  # columns that differ in signs, in more rows than there are
        numbers = [[a, g.one_of(a, -a), g.one_of(0.0, *halves)] for a in (row * 2)[:5]]
    xs = g.xs(FLOAT, len(numbers[0]))
    return constant.times(numbers, xs)


def fewer_blocks(g: Terms) -> Expr:
    m, n, k = (2 * g.size(1, 2) for _ in range(3))
    xs, ys = g.xs(Array(FLOAT, k), m), g.xs(Array(FLOAT, k), n)
    return products.matrix_product(xs, ys)


def three_products(g: Terms) -> Expr:
    """A random product of two matrices of complex numbers, which are tuples or arrays of two
    numbers; either matrix may be conjugated, and either may be the first factor."""
    m, n, k = (g.size(1, 3) for _ in range(3))
    number = g.some_type(COMPLEX, Array(FLOAT, 2))
    xs, ys = g.xs(Array(number, k), m), g.xs(Array(number, k), n)
    s, t, first = g.one_of(1, -1), g.one_of(1, -1), g.one_of(True, False)

    def part(z: Expr, i: int) -> Expr:
        return Get(i, z) if number == COMPLEX else At(i, z)

    def signed(z: Expr, sign: int) -> Expr:
        im = part(z, 1)
        return pair(part(z, 0), im if sign == 1 else Unary("neg", im))

    def step(acc: Expr, p: Expr) -> Expr:
        return plus(acc, times(signed(Get(0, p), s), signed(Get(1, p), t)))

    def summed(x: Expr, y: Expr) -> Expr:
        pairs = Zip((x, y) if first else (y, x))
        f = lam2(("acc", "p"), (COMPLEX, elem_of(pairs)), step)
        return Reduce(pair(ZERO, ZERO), f, pairs)

    inner = lam("x", elem_of(xs), lambda x: Map(lam("y", elem_of(ys), lambda y: summed(x, y)), ys))
    return Map(inner, xs)


def round_product(g: Terms) -> Instance:
    m, n, k = (g.size() for _ in range(3))
    xs, ys = g.xs(Array(FLOAT, k), m), g.xs(Array(FLOAT, k), n)
    return products.matrix_product(xs, ys), {"k": next(p for p in (2, 4, 3, 5, 7, 8) if m % p)}


INSTANCES: dict[Rule, Callable[[Terms], Instance]] = {
    folds.release_init: plain(release_init),
    views.fewest_transposes: plain(fewest_transposes),
    slides.round_windows: round_windows,
    slides.pad_twice: plain(pad_twice),
    slides.windows_across: plain(windows_across),
    slides.windows_down: plain(windows_down),
    slides.planes_inside: plain(planes_inside),
    maps.constant_part: plain(constant_part),
    zips.unused_part: plain(unused_part),
    matrices.replicate_taps: plain(replicate_taps),
    bilinear.fewer_products: fewer_products,
    constant.spell_rows: plain(spell_rows),
    constant.divide_matrix: plain(divide_matrix),
    products.fewer_blocks: plain(fewer_blocks),
    products.round_product: round_product,
    complexes.three_products: plain(three_products),
}
