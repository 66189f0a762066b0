"""Equations of indices solved by ranges, such as 8·g + l = 8·h + m with 0 ≤ l, m < 8 ⇒ l = m, g =
h.

Do item l of group g and item m of group h write one cell, where groups have 8 items?

    8·g + l = 8·h + m        that is 8·(g − h) + (l − m) = 0, with l − m in −7 … 7
    l − m = 0 and g − h = 0  for 0 is the only multiple of 8 in −7 … 7: they are one item

An equation g·coarse + fine = 0 with only one multiple m·g of g in the range of fine is the two
equations fine = m·g and coarse = −m: the digits of a mixed-radix number are determined by it, and
so in the end are the ids of the work-item. All steps are equivalences or consequences, so that what
is left over may go to the solver.

Key: g a unit, k coefficient, x y atoms or indices.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import gcd

from codegen.index.atoms import Assume, Atom, Quot, Rem, Var, rem
from codegen.index.index import Index, Term, constant, from_atom, shifted, summed
from codegen.index.mixed_radix_digits import digits, plus
from codegen.index.substitute import substitute

STEPS = 1000  # never nearly reached


class Contradiction(Exception):
    """Raised where equations have no solution."""


@dataclass(slots=True)
class Equations:
    """The state of solving equations: those still to be taken apart (`pending`, indices that must
    be 0) and what was found: values of variables, equal atoms, known quotients, and equations that
    ranges leave undecided."""

    pending: list[Index]  # still to be taken apart
    values: dict[str, Index] = field(default_factory=dict)  # of variables, by name
    equal_atoms: dict[str, Index] = field(default_factory=dict)  # what an atom is, by its key
    equal_pairs: list[tuple[Atom, Atom]] = field(default_factory=list)  # those that are two atoms
    known_quotients: list[Index] = field(default_factory=list)  # less the numbers that they are
    undecided: list[Index] = field(default_factory=list)  # what ranges do not take apart


def impossible(equations: Iterable[Index], differences: Iterable[Index]) -> bool:
    """True if the equations, each index = 0, force all differences to be 0, by ranges alone."""
    state = Equations(list(equations))
    try:
        solve(state)
    except Contradiction:
        return True
    return all(_is_zero(known(state, x)) for x in differences)


def solve(state: Equations) -> None:
    """Split all equations into smaller ones as far as ranges allow; raises Contradiction."""
    for _ in range(STEPS):
        if state.pending:
            for piece in list(pieces(known(state, state.pending.pop()))):
                _learn(state, piece)
        elif not _joined(state):
            return


def known(state: Equations, x: Index) -> Index:
    """The index x rewritten by the values and equal atoms that the state knows, so that indices
    known to be equal get one normal form."""
    if state.values:
        x = _placed(x, state.values)
    while any(atom.key in state.equal_atoms for atom, _ in x.terms):
        for atom, k in x.terms:
            if atom.key in state.equal_atoms:
                x = plus(plus(x, from_atom(atom), -k), state.equal_atoms[atom.key], k)
    return x


def _placed(x: Index, values: Mapping[str, Index]) -> Index:
    """The index x with values in place of variables, without putting quotients and remainders
    together."""
    total = constant(x.constant)
    for atom, k in x.terms:
        one = from_atom(atom)
        total = plus(total, one if atom.names.isdisjoint(values) else substitute(one, values), k)
    return total


def _is_zero(x: Index) -> bool:
    return not x.terms and x.constant == 0


# ---- taking apart


def pieces(x: Index) -> Iterator[Index]:
    """The equations of fewer terms that x = 0 splits into; Contradiction if it cannot hold."""
    if (x.lo is not None and x.lo > 0) or (x.hi is not None and x.hi < 0):
        raise Contradiction
    if not x.terms:
        return
    x = _primitive(x)
    parted = _in_two(digits(x)) or _in_two(x)
    if parted is None:
        yield x
        return
    for part in parted:
        yield from pieces(part)


def _primitive(x: Index) -> Index:
    """The index x divided by the common factor of its coefficients: g·x = 0  ⇔  x = 0."""
    g = gcd(*(k for _, k in x.terms))
    if x.constant % g:
        raise Contradiction
    return summed(tuple([(atom, k // g) for atom, k in x.terms]), x.constant // g)


def _in_two(x: Index) -> tuple[Index, Index] | None:
    units = sorted({abs(k) for _, k in x.terms} - {1})
    return next((two for g in units if (two := _parted(x, g)) is not None), None)


def _parted(x: Index, g: int) -> tuple[Index, Index] | None:
    """The two equations, fine − m·g = 0 and coarse + m = 0, that x = g·coarse + fine = 0 splits
    into, if fine can only be m·g; None if it may be several multiples of g. Raises Contradiction if
    it can be none."""
    coarse: list[Term] = [(atom, k // g) for atom, k in x.terms if k % g == 0]
    fine = summed(tuple([term for term in x.terms if term[1] % g]), x.constant % g)
    if fine.lo is None or fine.hi is None:
        return None
    least, most = -(-fine.lo // g), fine.hi // g
    if least > most:
        raise Contradiction
    if least < most:
        return None
    rest = summed(fine.terms, fine.constant - least * g)
    return rest, summed(tuple(coarse), x.constant // g + least)


# ---- learning


def _learn(state: Equations, x: Index) -> None:
    match x.terms:
        case ((Var(key=name), k),) if k in (1, -1):
            _place(state, name, constant(-k * x.constant))
        case ((Quot() as quotient, k),) if k in (1, -1):
            _digit(state, quotient, -k * x.constant)
        case ((a, 1), (b, -1)) | ((a, -1), (b, 1)) if x.constant == 0:
            _equal(state, a, b)
        case _:
            state.undecided.append(x)


def _equal(state: Equations, a: Atom, b: Atom) -> None:
    match a, b:
        case (_, Var(key=name)):
            _place(state, name, from_atom(a))
        case (Var(key=name), _):
            _place(state, name, from_atom(b))
        case (Assume(index=x), Assume(index=y)):
            state.pending.append(x - y)
        case _:
            _not_congruent(a, b)
            state.equal_atoms[b.key] = from_atom(a)
            state.equal_pairs.append((a, b))
            _again(state)


def _digit(state: Equations, quotient: Quot, m: int) -> None:
    """Note what follows from a known quotient: x // d = m ⇒ x % d = x − d·m, whose range may be
    smaller."""
    x, d = quotient.index, quotient.divisor
    state.equal_atoms[quotient.key] = constant(m)
    remainder, less = rem(x, d), known(state, shifted(x, -d * m))
    if all(atom.key != remainder.key for atom, _ in less.terms):
        state.equal_atoms[remainder.key] = less
    state.known_quotients.append(shifted(from_atom(quotient), -m))
    _again(state)


def _place(state: Equations, name: str, x: Index) -> None:
    """Note the value of a variable, name = x; the range of `name` is one more bound for x."""
    if name in x.names:
        return
    values = {name: x}
    state.values = {key: substitute(old, values) for key, old in state.values.items()}
    state.values[name] = x
    found = [from_atom(a) - from_atom(b) for a, b in state.equal_pairs] + state.known_quotients
    state.equal_pairs, state.known_quotients, state.equal_atoms = [], [], {}
    state.pending.extend(found)
    _again(state)


def _again(state: Equations) -> None:
    state.pending.extend(state.undecided)
    state.undecided.clear()


def _not_congruent(a: Atom, b: Atom) -> None:
    """Raise Contradiction for two remainders that are never equal: x % d = y % d only if d divides
    x − y."""
    match a, b:
        case (Rem(index=x, divisor=d), Rem(index=y, divisor=e)) if d == e:
            difference = x - y
            multiple = all(k % d == 0 for _, k in difference.terms)
            if multiple and difference.constant % d:
                raise Contradiction


def _joined(state: Equations) -> bool:
    """True if, for two remainders known to be equal, x % d = y % d, a new equation between x and y
    was found."""
    return any(_joins(state, pair) for pair in state.equal_pairs)


def _joins(state: Equations, pair: tuple[Atom, Atom]) -> bool:
    """True if a pair of equal remainders, x % d = y % d, led to a new equation, by these laws:

    x // d = y // d  ⇒  x = y
    k·(x // d) − k·(y // d) + z = 0  ⇔  k·x − k·y + d·z = 0
    """
    match pair:
        case (Rem(index=x, divisor=d), Rem(index=y, divisor=e)) if d == e:
            first, second = x // d, y // d
            if _is_zero(known(state, first - second)):
                state.equal_pairs.remove(pair)
                state.pending.append(x - y)
                return True
            for n, equation in enumerate(state.undecided):
                k = _times_apart(first, second, equation)
                if k:
                    z = plus(plus(equation, first, -k), second, k)
                    del state.undecided[n]
                    state.pending.append(plus(plus(z * d, x, k), y, -k))
                    return True
    return False


def _times_apart(x: Index, y: Index, equation: Index) -> int:
    """The k for which the equation contains k·x − k·y, where x and y are atoms; 0 if there is
    none."""
    match x.terms, y.terms:
        case ((a, 1),), ((b, 1),) if x.constant == y.constant:
            held = {atom.key: k for atom, k in equation.terms}
            k = held.get(a.key, 0)
            return k if held.get(b.key, 0) == -k else 0
    return 0
