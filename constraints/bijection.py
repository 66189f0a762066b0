"""Whether an index function is a bijection, as a relation between sizes."""

# key: f index function i -> e, n size, s stride

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from constraints.terms import NEVER, Divides, Relation
from ir.errors import Unsupported
from ir.nat import Size, same, show_size
from ir.nodes import Binary, Expr, Lam, Lit, SizeOf, Var

LARGEST = 1 << 24
Values = NDArray[np.int64]


def bijection(f: Lam, n: Size) -> tuple[Relation, ...]:
    """What makes f a bijection on 0 … n - 1; nothing, if it is one."""
    if not isinstance(f.pattern, Var):
        return (NEVER,)
    i = f.pattern.name
    if (s := _stride(f.body, i, n)) is not None:
        return (Divides(s, n),)
    if _is_identity(f.body, i) or _reverses(f.body, i, n):
        return ()
    return _tabulated(f.body, i, n)


def _is_identity(e: Expr, i: str) -> bool:
    return isinstance(e, Var) and e.name == i


def _reverses(e: Expr, i: str, n: Size) -> bool:
    """(n - 1) - i"""
    match e:
        case Binary("-", a, Var(name, _)) if name == i:
            last = _size(a)
            return last is not None and same(last, n - 1)
    return False


def _stride(e: Expr, i: str, n: Size) -> Size | None:
    """s in `i / (n/s) + s * (i % (n/s))`"""
    match e:
        case Binary(
            "+",
            Binary("/", Var(x, _), a),
            Binary("*", s, Binary("%", Var(y, _), b)) | Binary("*", Binary("%", Var(y, _), b), s),
        ) if x == y == i:
            stride, first, second = _size(s), _size(a), _size(b)
            if stride is None or first is None or second is None:
                return None
            whole = same(first, second) and same(stride * first, n)
            return stride if whole else None
    return None


def _size(e: Expr) -> Size | None:
    match e:
        case SizeOf(n):
            return n
        case Lit(int(value), _):
            return value
        case Binary("+" | "-" | "*" as op, a, b):
            x, y = _size(a), _size(b)
            if x is None or y is None:
                return None
            return x + y if op == "+" else x - y if op == "-" else x * y
    return None


def _tabulated(e: Expr, i: str, n: Size) -> tuple[Relation, ...]:
    """Every value once, by trying all indices."""
    if not isinstance(n, int) or n > LARGEST:
        raise Unsupported(f"reorder by a function of {show_size(n)} elements: use stride(s)")
    values = _table(e, {i: np.arange(n, dtype=np.int64)}, n)
    inside = bool(((values >= 0) & (values < n)).all())
    every = inside and int(np.count_nonzero(np.bincount(values, minlength=n))) == n
    return () if every else (NEVER,)


def _table(e: Expr, known: Mapping[str, Values], n: int) -> Values:
    match e:
        case Var(name, _) if name in known:
            return known[name]
        case Lit(int(value), _) | SizeOf(int(value)):
            return np.full(n, value, dtype=np.int64)
        case Binary(op, a, b) if op in _INT:
            return np.asarray(_INT[op](_table(a, known, n), _table(b, known, n)), dtype=np.int64)
    raise Unsupported(f"reorder by a function with {type(e).__name__} and tuning parameters")


_INT = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.floor_divide,
    "%": np.mod,
    "max": np.maximum,
    "min": np.minimum,
}
