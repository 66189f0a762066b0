"""Classes of choices of an index's variables: in a class, what work-items access differs by a shift
alone.

Item l of 6 of group g reads row (6·g + l) // 8. As 6·g = 8·((6·g) // 8) + p with p = 6·g % 8,

    (6·g + l) // 8 = (l + p) // 8 + (6·g) // 8

and p is one of 0 2 4 6. So four groups are looked at, one for each p, however many there are: what
any other group reads is what the one with its p reads, moved by whole rows.

An index is taken apart as inner + outer: `inner` holds the variables of work-items, `outer` all
others, those of groups and loops. Where a quotient or a remainder holds variables of both, only the
remainder of its outer part matters to the inner index; where a guard does, only that part of the
outer range in which it holds for some items and not for others. This part becomes a parameter, a
new variable of the inner index. Choices of the outer variables that give all parameters the same
values are a class.
"""

# key: x u index, d divisor, i inner and o outer part, n how many values a variable takes

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from math import prod
from operator import mul
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from codegen.index.atoms import Assume, Atom, Bound, Max, Min, Product, Quot, Rem, Var
from codegen.index.index import Index, constant, from_atom, maximum, minimum, var

Numbers = NDArray[np.int64]
Values = Mapping[str, Numbers]
Apart = tuple[Index, Index]  # inner and outer
T = TypeVar("T")
WIDE = 1 << 62
DENSE = 4  # numbers in a range of so many times as many are counted without sorting them


@dataclass(slots=True)
class Parts:
    """The state in which indices are divided into inner + outer: inner ones hold ids of work-items
    (`items`) and parameters, outer ones all other variables. `parameters` has, by outer index, the
    parameter by which inner indices refer to it."""

    items: frozenset[str]  # the variables of work-items
    parameters: dict[Index, Index] = field(default_factory=dict)

    def apart(self, x: Index) -> Apart:
        """The index x as a pair of indices whose sum is x: an inner one, of ids of work-items and
        of parameters, and an outer one, of all other variables."""
        inner, outer = constant(0), constant(x.constant)
        for atom, k in x.terms:
            i, o = self._atom(atom)
            inner, outer = inner + i * k, outer + o * k
        return inner, outer

    def undecided(self, guard: Index) -> Index:
        """An index that is at least 0 exactly where `guard` is, and that has no variables but ids
        of work-items and parameters."""
        i, o = self.apart(guard)
        never = None if i.hi is None else -i.hi - 1
        always = None if i.lo is None else -i.lo
        return i + self.parameter(clipped(o, never, always))

    def parameter(self, u: Index) -> Index:
        """The variable (a parameter) by which inner indices refer to u, an index without ids of
        work-items; the same for the same u. If u has one value, that constant."""
        if u.lo is not None and u.lo == u.hi:
            return constant(u.lo)
        if u not in self.parameters:
            self.parameters[u] = var(f"_{len(self.parameters)}", u.lo, u.hi)
        return self.parameters[u]

    def _atom(self, atom: Atom) -> Apart:
        whole, nothing = from_atom(atom), constant(0)
        if atom.names <= self.items:
            return whole, nothing
        if atom.names.isdisjoint(self.items):
            return nothing, whole
        match atom:
            case Quot(index=x, divisor=d):
                i, o = self.apart(x)
                return (i + self.parameter(o % d)) // d, o // d
            case Rem(index=x, divisor=d):
                i, o = self.apart(x)
                return (i + self.parameter(o % d)) % d, nothing
            case Assume(index=x):
                return self.apart(x)
            case Min(left=x, right=y) | Max(left=x, right=y):
                return self._nearer(isinstance(atom, Min), self.apart(x), self.apart(y))
            case Product(factors=factors):
                return reduce(mul, map(self._inner, factors)), nothing
        raise AssertionError(f"expected an atom of several variables, found {atom.key}")

    def _nearer(self, less: bool, x: Apart, y: Apart) -> Apart:
        """The minimum (or, unless `less`, the maximum) of two indices x and y, each of them and the
        result as a pair (inner, outer).

        With u the difference of the outer parts, min(i, j + u) = j + u if u ≤ i − j, else i. So u
        only matters between the least and the greatest i − j, and is clipped to that range.
        """
        (i, o), (j, p) = x, y
        between, u = i - j, p - o
        kept = clipped(u, between.lo, between.hi)
        end = between.lo if less else between.hi
        beyond = constant(0) if end is None else (minimum if less else maximum)(u - end, 0)
        return (minimum if less else maximum)(i, j + self.parameter(kept)), o + beyond

    def _inner(self, atom: Atom) -> Index:
        i, o = self._atom(atom)
        return i + self.parameter(o)


def clipped(u: Index, low: Bound, high: Bound) -> Index:
    """The index u limited to the range low … high."""
    u = u if low is None else maximum(u, low)
    return u if high is None else minimum(u, high)


def classes(parameters: Mapping[Index, Index], counts: Mapping[str, int]) -> tuple[Values, Numbers]:
    """The distinct combinations of the values of the parameters, a column for each, and the number
    of choices of the outer variables (of groups and loops) that give each combination. `parameters`
    has the index of outer variables that each parameter stands for; a variable takes as many
    values, from 0 on, as `counts` says."""
    values: dict[str, Numbers] = {}
    named = frozenset[str]().union(*(u.names for u in parameters))
    times = np.full(1, prod(n for name, n in counts.items() if name not in named), np.int64)
    for several in _tied(parameters.items(), lambda pair: pair[0].names):
        found, often = _together([u for u, _ in several], counts)
        old, new = len(times), len(often)
        values = {name: np.repeat(x, new, axis=0) for name, x in values.items()}
        values |= {
            next(iter(p.names)): np.tile(x.reshape(-1, 1), (old, 1))
            for (_, p), x in zip(several, found, strict=True)
        }
        times = np.repeat(times, new) * np.tile(often, old)
    return values, times


def _tied(found: Iterable[T], names: Callable[[T], frozenset[str]]) -> Iterator[list[T]]:
    """The groups of the items `found` that share names, directly or through other members of the
    group; `names` gives the names of an item."""
    groups: list[tuple[frozenset[str], list[T]]] = []
    for one in found:
        mine = names(one)
        near = [g for g in groups if g[0] & mine]
        groups = [g for g in groups if not g[0] & mine]
        groups.append((mine.union(*(g[0] for g in near)), [*chain(*(g[1] for g in near)), one]))
    return (together for _, together in groups)


def _together(us: Sequence[Index], counts: Mapping[str, int]) -> tuple[list[Numbers], Numbers]:
    """Each distinct combination of values of the indices `us`, a column for each, and the number of
    its occurrences; `counts` says how many values, from 0 on, each variable takes."""
    atoms = {atom.key: atom for u in us for atom in _outermost(u)}
    axes = [_axis(tied, counts) for tied in _tied(atoms.values(), lambda atom: atom.names)]
    values: dict[str, Numbers] = {}
    often = np.ones((), np.int64)
    for n, (found, times) in enumerate(axes):
        shape = [-1 if n == m else 1 for m in range(len(axes))]
        values |= {key: x.reshape(shape) for key, x in found.items()}
        often = often * times.reshape(shape)
    return _distinct([np.broadcast_to(values_of(u, values), often.shape) for u in us], often)


def _axis(atoms: Sequence[Atom], counts: Mapping[str, int]) -> tuple[Values, Numbers]:
    """Each distinct combination of values of `atoms`, by name, and the number of its occurrences;
    `counts` says how many values, from 0 on, each variable takes."""
    names = sorted(frozenset[str]().union(*(atom.names for atom in atoms)))
    taken = every(names, counts)
    shape = tuple(counts[name] for name in names)
    found = [np.broadcast_to(_value(atom, taken), shape) for atom in atoms]
    columns, often = _distinct(found, np.ones(shape, np.int64))
    return {atom.key: x for atom, x in zip(atoms, columns, strict=True)}, often


def _distinct(found: Sequence[Numbers], often: Numbers) -> tuple[list[Numbers], Numbers]:
    """The distinct combinations of numbers that stand at one position of these arrays, a column for
    each array, and how often each combination occurs; `often` has the number of occurrences that
    each position counts as."""
    code, span = np.zeros(often.shape, np.int64), 1
    for x in found:
        low, more = int(x.min()), int(x.max() - x.min()) + 1
        if span * more > WIDE:
            code, span = np.unique(code, return_inverse=True)[1].reshape(often.shape), code.size
        code, span = code * more + (x - low), span * more
    places, times = _counted(code.reshape(-1), span, often.reshape(-1))
    return [x.reshape(-1)[places] for x in found], times


def _counted(code: Numbers, span: int, often: Numbers) -> tuple[NDArray[np.intp], Numbers]:
    """The distinct numbers in `code`, in ascending order, as two arrays: for each number, a
    position where it stands, and the sum of `often` over all positions where it stands. All numbers
    are below `span`."""
    if span > DENSE * code.size:
        _, places, which = np.unique(code, return_index=True, return_inverse=True)
        return places, np.bincount(which.reshape(-1), often).astype(np.int64)
    times, anywhere = np.bincount(code, often, span), np.zeros(span, np.intp)
    anywhere[code] = np.arange(code.size)
    present = np.flatnonzero(times)
    return anywhere[present], times[present].astype(np.int64)


def _outermost(u: Index) -> Iterator[Atom]:
    """The outermost atoms of an index; in place of a minimum or maximum, those of its two
    indices."""
    for atom, _ in u.terms:
        match atom:
            case Min(left=x, right=y) | Max(left=x, right=y):
                yield from _outermost(x)
                yield from _outermost(y)
            case _:
                yield atom


def in_a_row(names: Sequence[str], counts: Mapping[str, int]) -> Values:
    """All combinations of values of the variables `names`, one after the other, as a column for
    each variable. A variable takes the values 0 … count - 1, with its count from `counts`."""
    axes = every(names, counts)
    shape = tuple(counts[name] for name in names)
    return {name: np.broadcast_to(x, shape).reshape(-1) for name, x in axes.items()}


def every(names: Sequence[str], counts: Mapping[str, int]) -> Values:
    """All values of each of the variables `names`, 0 … count - 1 with its count from `counts`, as
    an array with an axis of its own, so that the arrays of several variables broadcast to all
    combinations."""
    shapes = [[-1 if a == b else 1 for b in names] for a in names]
    return {
        name: np.arange(counts[name], dtype=np.int64).reshape(shape)
        for name, shape in zip(names, shapes, strict=True)
    }


def values_of(x: Index, values: Values) -> Numbers:
    """The values of the index x for these values of its variables."""
    total = np.full((), x.constant, np.int64)
    for atom, k in x.terms:
        total = total + k * _value(atom, values)
    return total


def _value(atom: Atom, values: Values) -> Numbers:
    known = values.get(atom.key)
    if known is not None:
        return known
    match atom:
        case Quot(index=x, divisor=d):
            return values_of(x, values) // d
        case Rem(index=x, divisor=d):
            return values_of(x, values) % d
        case Assume(index=x):
            return values_of(x, values)
        case Min(left=x, right=y):
            return np.minimum(values_of(x, values), values_of(y, values))
        case Max(left=x, right=y):
            return np.maximum(values_of(x, values), values_of(y, values))
        case Product(factors=factors):
            return reduce(mul, (_value(f, values) for f in factors))
        case Var():
            names = ", ".join(values)
            raise AssertionError(f"expected values of {atom.key}, found those of {names}")
