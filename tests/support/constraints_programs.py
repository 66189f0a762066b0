"""Small lowered programs with parameters, and a check, without the help of inference, whether their
points are legal."""

# key: e term, n size

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

from constraints.devices import MALI_G72, Profile
from constraints.quantities.value_bytes import bytes_of
from ir.core.bind_parameters import bind_sizes
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Binary,
    Expr,
    Join,
    Lam,
    Let,
    Level,
    Lit,
    Map,
    MapPar,
    MapSeq,
    Pad,
    Param,
    Program,
    ReduceSeq,
    Slide,
    Split,
    Store,
    ToLocal,
    ToPrivate,
    Var,
)
from ir.core.size import Size, named
from ir.core.terms import identity, lam, lam2, let, subterms
from ir.core.type_rules import elem_of, type_of
from ir.core.types import FLOAT, Array, Tuple, Type, Vector
from ir.errors import IllTyped

ZERO = Lit(0.0, FLOAT)
R, S, T, V = named("R"), named("S"), named("T"), named("V")
SMALL = replace(MALI_G72, group_items=12, local_bytes=64, private_words=8)


def double(t: Type) -> Lam:
    return lam("e", t, lambda e: Binary("+", e, e))


def total(xs: Expr) -> Expr:
    add = lam2(("a", "e"), (FLOAT, elem_of(xs)), lambda a, e: Binary("+", a, e))
    return ReduceSeq(ZERO, add, xs)


def group(dim: int, f: Callable[[Expr], Expr], xs: Expr) -> Expr:
    return MapPar(Level.GROUP, dim, lam("g", elem_of(xs), f), xs)


def local(dim: int, f: Callable[[Expr], Expr], xs: Expr) -> Expr:
    return MapPar(Level.LOCAL, dim, lam("l", elem_of(xs), f), xs)


def copied(xs: Expr) -> Expr:
    return ToLocal(MapPar(Level.LOCAL, 0, identity(elem_of(xs)), xs))


def tiled_map(n: int) -> Program:
    """A program that maps n elements, in tiles: T elements for each work-group, and S of these for
    each work-item. T and S are parameters."""
    x = Var("x", Array(FLOAT, n))

    def row(r: Expr) -> Expr:
        return MapSeq(double(FLOAT), r)

    body = Join(group(0, lambda t: Join(local(0, row, Split(S, t))), Split(T, x)))
    return Program("tiled", (Param(x),), body, ("S", "T"))


def tiled_blur(n: int) -> Program:
    """A program that blurs n elements in overlapping tiles of T in local memory; before, it pads
    them by R more elements, and crops these from its result. T and R are parameters."""
    x = Var("x", Array(FLOAT, n))
    tiles = Slide(T, T - 2, Pad(1, 1 + R, ZERO, x), strict=True)

    def tile(t: Expr) -> Expr:
        kept = copied(t)
        return let("tile", kept, type_of(kept), lambda k: local(0, total, Slide(3, 1, k)))

    body = Pad(0, -R, ZERO, Join(group(0, tile, tiles)))
    return Program("blur", (Param(x),), body, ("R", "T"))


def vectors(n: int) -> Program:
    x = Var("x", Array(FLOAT, n))
    body = AsScalar(MapPar(Level.GLOBAL, 0, double(Vector(FLOAT, V)), AsVector(V, x)))
    return Program("vectors", (Param(x),), body, ("V",))


def register_block(n: int) -> Program:
    """A program in which each work-item makes T sums in private memory, each of a row that is split
    in chunks of S. T and S are parameters; n rows are summed."""
    x = Var("x", Array(Array(FLOAT, n), n))

    def block(rows: Expr) -> Expr:
        kept = ToPrivate(MapSeq(lam("r", Array(FLOAT, n), total), rows, unrolled=True))
        return let("b", kept, type_of(kept), lambda b: MapSeq(identity(FLOAT), b, unrolled=True))

    def chunk(rows: Expr) -> Expr:
        return Join(local(0, block, Split(T, rows)))

    body = Join(group(0, chunk, Split(S * T, x)))
    return Program("blocks", (Param(x),), body, ("S", "T"))


def two_kernels(n: int) -> Program:
    """A program of two kernels: the first stores n elements padded by R, the second reads them in
    tiles of T. R and T are parameters."""
    x = Var("x", Array(FLOAT, n))
    padded = Store(MapPar(Level.GLOBAL, 0, identity(FLOAT), Pad(0, R, ZERO, x)))

    def use(xs: Expr) -> Expr:
        return Join(group(0, lambda t: local(0, lambda e: Binary("+", e, e), t), Split(T, xs)))

    return Program("two", (Param(x),), let("p", padded, type_of(padded), use), ("R", "T"))


def picked(n: int) -> Program:
    """A program that reads the element T (a parameter) of each tile of S (another) of n
    elements."""
    x = Var("x", Array(FLOAT, n))
    pick = lam("t", Array(FLOAT, S), lambda t: At(T, t))
    body = MapPar(Level.GLOBAL, 0, identity(FLOAT), Map(pick, Split(S, x)))
    return Program("picked", (Param(x),), body, ("S", "T"))


def picked_of_four(n: int) -> Program:
    """A program that reads the element T (a parameter, from 0) of each tile of four of n
    elements."""
    x = Var("x", Array(FLOAT, n))
    pick = lam("t", Array(FLOAT, 4), lambda t: At(T, t))
    body = MapPar(Level.GLOBAL, 0, identity(FLOAT), Map(pick, Split(4, x)))
    return Program("picked_of_four", (Param(x),), body, ("T",))


def cropped(n: int) -> Program:
    """A program that reads all of n elements but the last R, a parameter that may be 0."""
    x = Var("x", Array(FLOAT, n))
    body = MapPar(Level.GLOBAL, 0, identity(FLOAT), Pad(0, -R, ZERO, x))
    return Program("cropped", (Param(x),), body, ("R",))


# ---- legality, in numbers


def legal(program: Program, values: Mapping[str, int], device: Profile, memory: int) -> bool:
    """True if a program with these values of its parameters has whole sizes, satisfies the demands
    of its nodes, and fits the device and `memory` bytes."""
    return types_and_nodes_hold(program, values) and _fits(
        program, bind_sizes(program.body, values), device, memory
    )


def types_and_nodes_hold(program: Program, values: Mapping[str, int]) -> bool:
    """True if a program with these values of its parameters has whole sizes, and satisfies the
    demands of its nodes."""
    try:
        e = bind_sizes(program.body, values)
        return all(map(_whole, _types(e))) and all(map(_node, subterms(e)))
    except (IllTyped, ZeroDivisionError, AssertionError):
        return False


def _types(e: Expr) -> list[Type]:
    return [type_of(t) for t in subterms(e) if not isinstance(t, Lam)]


def _whole(t: Type) -> bool:
    match t:
        case Array(elem, n):
            return isinstance(n, int) and n >= 1 and _whole(elem)
        case Vector(_, n):
            return n in (2, 3, 4, 8, 16)
        case Tuple(parts):
            return all(map(_whole, parts))
    return True


def _node(e: Expr) -> bool:
    match e:
        case Split(m, _):
            return _number(m) >= 1
        case Slide(size, step, xs, strict):
            n = _number(_array(xs).size)
            a, b = _number(size), _number(step)
            return 1 <= a <= n and b >= 1 and (not strict or (n - a) % b == 0)
        case ReduceSeq(_, Lam(_, Let(_, ToLocal(_, True), _)), xs, _):
            return _number(_array(xs).size) >= 2  # or nothing is loaded ahead
        case At(k, xs):
            return 0 <= _number(k) < _number(_array(xs).size)
    return True


def _fits(program: Program, e: Expr, device: Profile, memory: int) -> bool:
    group_items = [1, 1, 1]
    local_bytes = private_bytes = 0
    stored = [bytes_of(p.var.type) for p in program.params] + [bytes_of(type_of(e))]
    for t in subterms(e):
        match t:
            case MapPar(Level.LOCAL, dim, _, xs):
                group_items[dim] = max(group_items[dim], _number(_array(xs).size))
            case ToLocal():
                local_bytes += -(-_number(bytes_of(type_of(t))) // 64) * 64
            case ToPrivate():
                private_bytes += _number(bytes_of(type_of(t)))
            case Store():
                stored.append(bytes_of(type_of(t)))
    return (
        prod(group_items) <= device.group_items
        and local_bytes <= device.local_bytes
        and private_bytes <= 4 * device.private_words
        and sum(map(_number, stored)) <= memory
    )


def _number(n: Size) -> int:
    assert isinstance(n, int)
    return n


def _array(e: Expr) -> Array:
    t = type_of(e)
    assert isinstance(t, Array)
    return t
