"""Laws of matrix products in blocks: Strassen's seven products of blocks instead of eight."""

# key: xs ys rows of the operands, k size

from collections.abc import Callable

from ir.core.nodes import Edge, Expr, Join, Lam, Lit, Map, Pad, PadEdge, Reduce, Split, Var, Zip
from ir.core.size import Size, exact, round_up
from ir.core.terms import free, lam, lam2
from ir.core.type_rules import array_of, elem_of, size_of, type_of
from ir.core.types import FLOAT, leaves
from rewrites.analysis.linearity import is_zero
from rewrites.analysis.out_views import adds_anything
from rewrites.engine.rule import rule
from rewrites.fast_algorithms.bilinear_algorithms import block_product, strassen
from rewrites.fast_algorithms.constant_matrices import dot, sums_products, transformed
from rewrites.laws.views import swapped


@rule(
    "map (x -> map (y -> reduce 0 (+ *) (zip x y)) ys) xs  =  blocks joined . A [(G xs') ⊗ (B ys')]"
    ",  xs' and ys' in 2 × 2 blocks, ⊗ the product of matrices",
    rounding=2 * strassen().amplification(),
    growth=strassen().amplification(),
)
def fewer_blocks(e: Expr) -> Expr | None:
    """A matrix product with even sides becomes seven products of blocks of half its size
    (Strassen)."""
    found = _operands(e)
    if found is None or any(not isinstance(n, int) or n % 2 for n in _sides(*found)):
        return None
    if any(map(adds_anything, found)):
        return None
    return _by_blocks(*found)


@rule("map (x -> map (y -> reduce 0 (+ *) (zip x y)) ys) xs  =  crop . the same . pads with 0")
def round_product(e: Expr, k: Size) -> Expr | None:
    """A matrix product becomes one whose sides are multiples of k, by zeros around the operands and
    a crop."""
    found = _operands(e)
    if found is None:
        return None
    xs, ys = found
    rows, columns, sums = (round_up(n, k) - n for n in _sides(xs, ys))
    if rows == columns == sums == 0:
        return None
    whole = matrix_product(_widened(xs, rows, sums), _widened(ys, columns, sums))
    return _each(lambda row: _cropped(row, columns), _cropped(whole, rows), columns)


def _widened(xs: Expr, rows: Size, columns: Size) -> Expr:
    return _padded(_each(lambda row: _padded(row, columns), xs, columns), rows)


def _padded(xs: Expr, more: Size) -> Expr:
    return xs if more == 0 else Pad(0, more, Lit(0.0, FLOAT), xs)


def _cropped(xs: Expr, more: Size) -> Expr:
    return xs if more == 0 else PadEdge(Edge.ANY, 0, -more, xs)


def _each(f: Callable[[Expr], Expr], xs: Expr, more: Size) -> Expr:
    return xs if more == 0 else Map(lam("row", elem_of(xs), f), xs)


def _operands(e: Expr) -> tuple[Expr, Expr] | None:
    """The two arrays of rows of floats, xs and ys, if e multiplies every row of xs with every row
    of ys; None if e is no matrix product, or one of other numbers."""
    match e:
        case Map(Lam(Var(x, _), Map(Lam(Var(y, _), Reduce(z, f, Zip(parts))), ys)), xs):
            names = [p.name for p in parts if isinstance(p, Var)]
            if sorted(names) != sorted((x, y)) or not _is_sum(z, f) or x in free(ys):
                return None
            return (xs, ys) if _of_floats(xs) and _of_floats(ys) else None
    return None


def _of_floats(xs: Expr) -> bool:
    return all(leaf == FLOAT for leaf in leaves(type_of(xs)))


def _is_sum(z: Expr, f: Lam) -> bool:
    return is_zero(z) and type_of(z) == FLOAT and sums_products(f)


def _sides(xs: Expr, ys: Expr) -> tuple[Size, Size, Size]:
    return size_of(xs), size_of(ys), array_of(Var("_", elem_of(xs))).size


def _by_blocks(xs: Expr, ys: Expr) -> Expr:
    algorithm = strassen()
    assert algorithm.computes(block_product)
    left = transformed([algorithm.g], _blocks(xs))
    right = transformed([algorithm.b], _blocks(ys))
    t, u = elem_of(left), elem_of(right)
    step = lam2(("rows", "columns"), (t, u), matrix_product)
    results = transformed([algorithm.a], Map(step, Zip((left, right))))
    rows = swapped(Split(2, results), 1)
    whole = lam("rows", elem_of(rows), lambda r: Map(lam("row", elem_of(r), Join), r))
    return Join(Map(whole, rows))


def matrix_product(xs: Expr, ys: Expr) -> Expr:
    """The term that multiplies every row of xs with every row of ys."""

    def with_all(row: Expr) -> Expr:
        return Map(lam("column", elem_of(ys), lambda column: dot(row, column)), ys)

    return Map(lam("row", elem_of(xs), with_all), xs)


def _blocks(xs: Expr) -> Expr:
    """The matrix xs cut into its four blocks: [[T]k]n -> [[[T](k/2)](n/2)]4."""
    rows, columns = size_of(xs), array_of(Var("_", elem_of(xs))).size
    halves = Split(exact(rows, 2), xs)
    cut = Map(
        lam(
            "half",
            elem_of(halves),
            lambda h: Map(lam("row", elem_of(h), lambda r: Split(exact(columns, 2), r)), h),
        ),
        halves,
    )
    return Join(swapped(cut, 1))
