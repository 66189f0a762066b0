"""Values put in place of the variables of an index, and how an index depends on its variables."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import mul

from codegen.index.atoms import Assume, Atom, Max, Min, Product, Quot, Rem, Var
from codegen.index.index import (
    Index,
    Term,
    as_index,
    assume,
    from_atom,
    maximum,
    minimum,
    operands_of,
    summed,
)


def substitute(index: Index, values: Mapping[str, Index | int]) -> Index:
    """The index with `values` in place of the variables that they name, in normal form."""
    return as_index(_placed(index, values))


def evaluate(index: Index, values: Mapping[str, int]) -> int:
    """The number that the index is at these values of its variables; a ValueError if one of them
    has none."""
    number = _placed(index, values)
    if isinstance(number, Index):
        missing = ", ".join(sorted(number.names))
        raise ValueError(
            f"expected a value for every variable of {index.key}, found none for {missing}"
        )
    return number


def variables(index: Index) -> frozenset[str]:
    return index.names


def coefficient(index: Index, name: str) -> int | None:
    """The k of index = k·name + rest, where rest does not depend on the variable `name`; None if
    the index is not linear in it."""
    total = 0
    for atom, k in index.terms:
        if name not in atom.names:
            continue
        match atom:
            case Var():
                inner: int | None = 1
            case Assume(index=known):
                inner = coefficient(known, name)
            case _:
                inner = None
        if inner is None:
            return None
        total += k * inner
    return total


def linear_in(index: Index, name: str) -> bool:
    return coefficient(index, name) is not None


def unassumed(index: Index) -> Index:
    """The index without its assumptions, also those inside quotients. Where the assumptions hold,
    its value is the same; its range is true also where they do not."""
    if not any(_assumes(atom) for atom, _ in index.terms):
        return index
    total = summed((), index.constant)
    for atom, k in index.terms:
        total += (_without(atom) if _assumes(atom) else from_atom(atom)) * k
    return total


def _assumes(atom: Atom) -> bool:
    if isinstance(atom, Var):
        return False
    inside = operands_of(atom)
    return isinstance(atom, Assume) or any(_assumes(a) for x in inside for a, _ in x.terms)


def _without(atom: Atom) -> Index:
    inside = [unassumed(x) for x in operands_of(atom)]
    return inside[0] if isinstance(atom, Assume) else as_index(_made_of(atom, inside))


def _placed(index: Index, values: Mapping[str, Index | int]) -> Index | int:
    """The index with `values` in place of the variables that they name; a plain number if it then
    is constant, as most indices of unrolled loops are."""
    kept: list[Term] = []
    number = index.constant
    moved: Index | None = None
    for term in index.terms:
        atom, k = term
        if isinstance(atom, Var):
            value = values.get(atom.key)
        elif atom.names.isdisjoint(values):
            value = None
        else:
            value = _placed_atom(atom, values)
        if value is None:
            kept.append(term)
        elif isinstance(value, Index):
            moved = value * k if moved is None else moved + value * k
        else:
            number += k * value
    if moved is not None:
        total = moved + summed(tuple(kept), number)
        return total if total.terms else total.constant
    return summed(tuple(kept), number) if kept else number


def _placed_atom(atom: Atom, values: Mapping[str, Index | int]) -> Index | int:
    inside = [_placed(x, values) for x in operands_of(atom)]
    if isinstance(atom, Assume):
        (x,) = inside
        return assume(x, atom.lo, atom.hi) if isinstance(x, Index) else x
    return _made_of(atom, inside)


def _made_of(atom: Atom, inside: Sequence[Index | int]) -> Index | int:
    """The index that an atom becomes if its operands are replaced by `inside`; the atom has no
    assumptions."""
    match atom:
        case Quot(divisor=d):
            return inside[0] // d
        case Rem(divisor=d):
            return inside[0] % d
        case Min():
            return minimum(*inside)
        case Max():
            return maximum(*inside)
        case Product():
            return reduce(mul, inside)
        case _:
            raise AssertionError(f"expected an atom made of others, found {atom.key}")
