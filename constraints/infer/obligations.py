"""The constraints that each node of the language sets on the sizes it is used with."""

# key: e term, n size

from collections.abc import Iterable, Iterator

from constraints.infer.bijection_relation import bijection
from constraints.infer.size_obligations import of_size, of_type
from constraints.quantities.origin import brief
from constraints.relations.relations import (
    AtMost,
    Constraint,
    Divides,
    OneOf,
    Relation,
    divides,
    spell,
)
from ir.core.loaded_ahead import loaded_ahead
from ir.core.nodes import (
    AsVector,
    At,
    Expr,
    Lam,
    Pad,
    PadEdge,
    Program,
    Reduce,
    ReduceSeq,
    Reorder,
    SizeOf,
    Slide,
    Split,
    Var,
)
from ir.core.size import Size
from ir.core.terms import children
from ir.core.type_rules import size_of, type_of
from ir.core.types import Type, show_type


def parameters(program: Program) -> Iterator[Constraint]:
    """The constraints from the types of a program's parameters."""
    for param in program.params:
        origin = f"{param.var.name} : {show_type(param.var.type)}"
        yield from of_type(param.var.type, origin, frozenset(), set())


def obligations(e: Expr, widths: tuple[int, ...]) -> Iterator[Constraint]:
    """The constraints from e and all terms inside it; `widths` are those that vectors may have.

    Innermost terms come first, so that each constraint names the node where it arises. A variable
    has no constraints: it is a parameter, or the term that binds it has its type.
    """
    terms = [t for t in _inside_out(e) if not isinstance(t, Lam | Var)]
    own = [[Constraint(r, why, brief(t)) for r, why in _own(t, widths)] for t in terms]
    positive = positives(c for group in own for c in group)
    types = set[Type]()
    for t, group in zip(terms, own, strict=True):
        yield from group
        for n in _sizes(t):
            yield from of_size(n, brief(t), positive)
        yield from of_type(type_of(t), brief(t), positive, types)


def _inside_out(e: Expr) -> Iterable[Expr]:
    """The terms inside e and, last, e itself, each once, innermost first; arguments come before the
    function that is applied to them."""
    found, left = [], [e]
    while left:
        inner = left.pop()
        found.append(inner)
        left.extend(sorted(children(inner), key=_is_function))
    return dict.fromkeys(reversed(found))


def _is_function(e: Expr) -> bool:
    return isinstance(e, Lam)


def positives(constraints: Iterable[Constraint]) -> frozenset[Size]:
    """The sizes that some constraint requires to be at least 1."""
    found: set[Size] = set()
    for c in constraints:
        match c.relation:
            case Divides(m, _) | AtMost(1, m):
                found.add(m)
    return frozenset(found)


def _sizes(e: Expr) -> tuple[Size, ...]:
    """The sizes that are written in the node e."""
    match e:
        case Split(n, _) | AsVector(n, _) | At(n, _) | SizeOf(n):
            return (n,)
        case Slide(n, m, _, _) | Pad(n, m, _, _) | PadEdge(_, n, m, _):
            return n, m
    return ()


def _own(e: Expr, widths: tuple[int, ...]) -> Iterator[tuple[Relation, str]]:
    match e:
        case Split(m, xs):
            yield _exact(m, size_of(xs), "parts")
        case AsVector(v, xs):
            if v != 1:  # a vector of one number is that number
                yield OneOf(v, widths), f"vectors have {', '.join(map(str, widths))} lanes"
            yield _exact(v, size_of(xs), "vectors")
        case Slide(size, step, xs, strict):
            yield from _windows(size, step, size_of(xs), strict)
        case At(k, xs):
            yield AtMost(0, k), f"at({spell(k)}) is an index"
            yield AtMost(k + 1, size_of(xs)), f"at({spell(k)}) of {spell(size_of(xs))}"
        case ReduceSeq(_, f, xs, _) | Reduce(_, f, xs) if loaded_ahead(f)[0]:
            turns = spell(size_of(xs))
            yield AtMost(2, size_of(xs)), f"a loop of {turns} turns loads its next turn's tiles"
        case Reorder(f, xs):
            for relation in bijection(f, size_of(xs)):
                yield relation, "reorder needs a bijection"


def _exact(m: Size, n: Size, what: str) -> tuple[Relation, str]:
    text = f"{spell(m)} must divide the {spell(n)} elements that become {what}"
    return divides(m, n), text


def _windows(size: Size, step: Size, n: Size, strict: bool) -> Iterator[tuple[Relation, str]]:
    yield AtMost(1, size), f"a window has {spell(size)} elements"
    yield AtMost(1, step), f"windows are {spell(step)} apart"
    yield AtMost(size, n), f"a window of {spell(size)} fits in {spell(n)}"
    if strict:
        gap = f"windows of {spell(size)} every {spell(step)} must fill {spell(n)}"
        yield divides(step, n - size), gap
