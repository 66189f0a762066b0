"""Affine accesses: the cell of an array that a view shows, as a sum of multiples of loop indices,
base[a i + b j + c]."""

# key: e term, i j loop indices, k coefficient, env what variables are bound to

from collections.abc import Callable, Mapping
from dataclasses import replace

from ir.core.frozen import frozen
from ir.core.nodes import (
    At,
    Edge,
    Expr,
    Get,
    Join,
    Lam,
    Let,
    Lit,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Pattern,
    Reorder,
    Slide,
    Split,
    Transpose,
    Var,
    Zip,
)
from ir.core.size import Size, show_size
from ir.core.terms import free, subterms
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import Array
from ir.core.views import is_view
from rewrites.engine.derivation_text import head


class NoAccess(Exception):
    """Raised where a view's cells are not sums of multiples of loop indices; its message is the
    reason."""


@frozen
class Index:
    """The index of a loop, by name: it counts from 0 to size - 1."""

    name: str
    size: int


@frozen
class Affine:
    """A coordinate c + Σ k i over loop indices i: `terms` are the pairs (i, k), and `constant` is
    c. `loose` says that it may lie outside of its array, where zeros are read."""

    terms: tuple[tuple[Index, int], ...]
    constant: int = 0
    loose: bool = False

    def times(self, k: int) -> "Affine":
        return replace(
            self, terms=tuple((i, k * c) for i, c in self.terms), constant=k * self.constant
        )

    def plus(self, other: "Affine") -> "Affine":
        total = dict(self.terms)
        for i, k in other.terms:
            total[i] = total.get(i, 0) + k
        kept = tuple((i, k) for i, k in total.items() if k)
        return Affine(kept, self.constant + other.constant, self.loose or other.loose)

    def shifted(self, by: int) -> "Affine":
        return replace(self, constant=self.constant + by)

    @property
    def last(self) -> int:
        """The largest value of this coordinate."""
        return self.constant + sum(k * (i.size - 1) for i, k in self.terms)

    def divided(self, n: int) -> tuple["Affine", "Affine"]:
        """The quotient and the remainder of this coordinate by n: its terms that are multiples of
        n, over n, and the others; NoAccess where the others may reach n."""
        whole = tuple((i, k // n) for i, k in self.terms if k % n == 0)
        rest = tuple((i, k) for i, k in self.terms if k % n)
        low = Affine(rest, self.constant % n)
        if self.loose or any(k < 0 for _, k in self.terms) or low.last >= n:
            raise NoAccess("expected joined rows that are read row by row, found them read across")
        return Affine(whole, self.constant // n), low


@frozen
class Access:
    """The cell of the array `base` at these coordinates; with fewer coordinates than dimensions,
    the subarray there."""

    base: Expr
    coordinates: tuple[Affine, ...]


@frozen
class View:
    """An array: its size, and a function from an index, given as a coordinate, to what is read at
    that index."""

    size: int
    at: Callable[[Affine], "Read"]


Read = Access | View | tuple["Read", ...]
Env = Mapping[str, Read]


def index(i: Index) -> Affine:
    """The coordinate that is just the loop index i."""
    return Affine(((i, 1),))


def array(r: Read) -> View:
    """The array that r reads, as a view; NoAccess where the array's size is not a number, or r does
    not read an array."""
    match r:
        case View():
            return r
        case Access(base, coordinates):
            t = type_of(base)
            for _ in coordinates:
                assert isinstance(t, Array)
                t = t.elem
            if isinstance(t, Array) and isinstance(t.size, int):
                return View(t.size, lambda i: Access(base, (*coordinates, i)))
        case tuple():
            views = [array(part) for part in r]
            return View(views[0].size, lambda i: tuple(v.at(i) for v in views))
    raise NoAccess("expected a view of an array of known size, found a size that is not a number")


def bind(env: Env, p: Pattern, r: Read) -> Env:
    """The environment with each variable of a pattern bound to its part of what was read."""
    if isinstance(p, Var):
        return {**env, p.name: r}
    if not isinstance(r, tuple):
        raise NoAccess("expected a tuple written as its parts, found a tuple that is computed")
    for q, part in zip(p, r, strict=True):
        env = bind(env, q, part)
    return env


def read(e: Expr, env: Env) -> Read:
    """A view, the access to one cell, or a tuple of these: the cells that the term e reads. `env`
    has what its variables read; a term that is no view is an array of its own."""
    match e:
        case Var(name, _) if name in env:
            return env[name]
        case MakeTuple(parts):
            return tuple(read(part, env) for part in parts)
        case Zip(parts):
            return array(tuple(read(part, env) for part in parts))
        case Get(k, inner):
            found = read(inner, env)
            if isinstance(found, tuple):
                return found[k]
            raise NoAccess("expected a tuple written as its parts, found a tuple that is computed")
        case Let(p, value, body):
            return read(body, bind(env, p, read(value, env)))
        case Map(f, xs) if is_view(f.body) and not (_reorders(f.body) and _is_closed(e, env)):
            return _mapped(f, array(read(xs, env)), env)
    return _layout(e, env)


def _is_closed(e: Expr, env: Env) -> bool:
    """True if e uses none of the variables in env, so that it can be computed as an array of its
    own."""
    return not env.keys() & free(e)


def _reorders(e: Expr) -> bool:
    return any(isinstance(s, Reorder) for s in subterms(e))


def _mapped(f: Lam, xs: View, env: Env) -> Read:
    return View(xs.size, lambda i: read(f.body, bind(env, f.pattern, xs.at(i))))


def _layout(e: Expr, env: Env) -> Read:
    match e:
        case Split(int() as m, xs):
            parts = array(read(xs, env))
            return View(parts.size // m, lambda i: _chunk(parts, m, i))
        case Join(xs):
            return _joined(array(read(xs, env)), _int(size_of(_element(xs))))
        case Slide(int() as n, int() as step, xs, _):
            return _windows(array(read(xs, env)), n, step)
        case Transpose(xs):
            rows = array(read(xs, env))
            return View(_int(size_of(_element(xs))), lambda i: _column(rows, i))
        case Pad(int() as l, int() as r, Lit(0, _), xs) | PadEdge(
            Edge.ANY, int() as l, int() as r, xs
        ):
            if isinstance(e, Pad) or max(l, r) <= 0:
                return _padded(array(read(xs, env)), l, r)
        case At(int() as k, xs):
            return array(read(xs, env)).at(Affine((), k))
        case _ if _is_closed(e, env):
            return Access(e, ())
    raise NoAccess(
        f"expected an operand that is a view of the program's parameters, found {head(e)}"
    )


def _chunk(xs: View, m: int, i: Affine) -> Read:
    return View(m, lambda j: xs.at(i.times(m).plus(_inside(j))))


def _column(rows: View, i: Affine) -> Read:
    return View(rows.size, lambda j: array(rows.at(j)).at(i))


def _joined(rows: View, n: int) -> Read:
    def cell(i: Affine) -> Read:
        row, column = i.divided(n)
        return array(rows.at(row)).at(column)

    return View(rows.size * n, cell)


def _windows(xs: View, n: int, step: int) -> Read:
    def window(i: Affine) -> Read:
        if i.loose:
            raise NoAccess("expected padding around an array, found padding around its windows")
        return View(n, lambda j: xs.at(i.times(step).plus(_inside(j))))

    return View((xs.size - n) // step + 1, window)


def _inside(j: Affine) -> Affine:
    """The coordinate j of an element in a chunk or window, unchanged; NoAccess if j may lie outside
    of the array, in a padding."""
    if j.loose:
        raise NoAccess("expected padding around an array, found padding around chunks or windows")
    return j


def _padded(xs: View, l: int, r: int) -> Read:
    """The view xs with l zeros before and r behind, or elements cropped where these are negative;
    NoAccess where a crop of a padding may be read outside of the array."""

    def cell(i: Affine) -> Read:
        if i.loose and min(l, r) < 0:
            raise NoAccess("expected a padding or a crop of an array, found a padding of a crop")
        return xs.at(replace(i.shifted(-l), loose=i.loose or l > 0 or r > 0))

    return View(l + xs.size + r, cell)


def _element(xs: Expr) -> Expr:
    return Var("_", elem_of(xs))


def _int(n: Size) -> int:
    if isinstance(n, int):
        return n
    raise NoAccess(f"expected sizes that are numbers, found {show_size(n)}")
