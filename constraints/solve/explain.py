"""Explanations, in the user's words, of sets of constraints that no point satisfies."""

# key: c constraint

from collections.abc import Mapping, Sequence

from constraints.relations.parameter_bounds import ENDLESS, bounds, least
from constraints.relations.relations import AtMost, Constraint, Divides, Equal, show_relation, spell
from ir.core.size import Nat, Size, bind, named, names

LEGIBLE = 60  # characters of a relation


def explain(core: Sequence[Constraint], parameters: Sequence[str]) -> str:
    """The message that no variant satisfies all constraints in `core`, and why; `parameters` are
    those of the program."""
    return f"no variant: {clash(core, parameters)}"


def clash(core: Sequence[Constraint], parameters: Sequence[str]) -> str:
    """The reason, as text, why the constraints in `core` cannot hold together; `parameters` are
    those of the program."""
    relations = [c.relation for c in core]
    low = {p: n for p, (n, _) in bounds(parameters, relations).items() if n < ENDLESS}
    fixed = {r.a: r.b for r in relations if isinstance(r, Equal)}
    words = [_words(c, low, fixed) for c in core]
    return "; ".join(dict.fromkeys(words))


def _words(c: Constraint, low: Mapping[str, int], fixed: Mapping[Size, Size]) -> str:
    place = "" if c.origin in c.why else f" at {c.origin}"
    match c.relation:
        case AtMost(a, int(limit)) if str(limit) in c.why:
            unit = " B" if c.why.endswith(" B") else ""
            return f"{c.why} < {_needed(a, low)}{unit} needed by {c.origin}"
        case Divides(m, n) if m in fixed:
            return f"{_valued(m, fixed)} does not divide {_amount(n, fixed)} of {c.origin}"
        case Divides():
            return f"{c.why}{place}"
        case Equal():
            return f"{show_relation(c.relation)} ({c.why})"
    relation = show_relation(c.relation)
    return f"{relation} ({c.why}){place}" if len(relation) <= LEGIBLE else f"{c.why}{place}"


def _valued(a: Size, fixed: Mapping[Size, Size]) -> str:
    return f"{spell(a)} = {spell(fixed[a])}" if a in fixed else spell(a)


def _amount(a: Size, fixed: Mapping[Size, Size]) -> str:
    """The text of a size; if `fixed` gives its value, the value comes first."""
    known = {p: n for p in names(a) if isinstance(n := fixed.get(named(p)), int)}
    number = bind(a, known)
    return f"{number} = {spell(a)}" if isinstance(number, int) and number != a else spell(a)


def _needed(a: Size, low: Mapping[str, int]) -> str:
    """The text of an amount: its least value if that is known from `low`, else the size itself."""
    if not isinstance(a, Nat):
        return str(a)
    smallest = least(a, low)
    return spell(a) if smallest is None else f"{smallest}"
