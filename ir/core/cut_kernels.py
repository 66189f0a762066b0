"""The cutting of a program into kernels: each `store` is a buffer made by a kernel of its own."""

# key: e term, t what a store holds

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from ir.core.frozen import frozen
from ir.core.nodes import (
    AsScalar,
    AsVector,
    Binary,
    Expr,
    Join,
    Lam,
    Let,
    Pad,
    PadEdge,
    Pattern,
    Program,
    Reduce,
    ReduceSeq,
    Reorder,
    Select,
    Split,
    Store,
    Transpose,
    Unary,
    Var,
)
from ir.core.size import Size
from ir.core.terms import (
    children,
    component,
    free,
    once,
    over,
    rebuild,
    substitute,
    subterms,
    variables,
)
from ir.core.type_rules import type_of
from ir.core.types import Type
from ir.core.views import is_layout
from ir.errors import Unsupported


@frozen
class Stage:
    """A kernel `name` = body, whose result has the type `type`. The body uses the parameters and
    earlier stages that `reads` names; the kernel belongs to `prepack` if all of these are constants
    or made of constants alone."""

    name: str
    body: Expr
    type: Type
    reads: frozenset[str]
    prepack: bool = False


Names = frozenset[str]


@dataclass(slots=True)
class _Cut:
    names: set[str]
    binders: Counter[str]  # how often each name is bound inside the program
    known: set[str]  # what a kernel may name: parameters and stages
    constants: set[str]
    sources: dict[str, str]  # the parameter that all of a stage is made of
    stages: list[Stage] = field(default_factory=list)
    made: dict[Expr, Var] = field(default_factory=dict)


def stages(program: Program) -> tuple[Stage, ...]:
    """The kernels of a program, in an order in which they can run; the last makes the output."""
    params = {p.var.name for p in program.params}
    constants = {p.var.name for p in program.params if p.const}
    whole = _outermost(program.body)
    sources = {name: name for name in params}
    cut = _Cut(set(params), Counter(_bound_inside(whole)), set(params), constants, sources)
    body = _cut(whole, cut, frozenset(), None)
    name = _first_free("out" if program.name != "out" else "result", cut.names, cut)
    reads = free(body) & cut.known
    return (*cut.stages, Stage(name, body, type_of(body), reads))


def _outermost(e: Expr) -> Expr:
    """The term e without the stores that its result passes through: a kernel's result is stored in
    any case."""
    match e:
        case Store(inner):
            return _outermost(inner)
        case Let(p, value, body):
            return Let(p, value, _outermost(body))
        case Join() | Split() | Transpose() | AsScalar() | AsVector():
            return rebuild(e, (*children(e)[:-1], _outermost(e.xs)))
        case Pad(left, right, _, xs) | PadEdge(_, left, right, xs) if not _adds(left, right):
            return rebuild(e, (*children(e)[:-1], _outermost(xs)))
    return e


def _adds(*amounts: Size) -> bool:
    """True if any of these amounts of padding is positive for all values of the parameters."""
    numerators = (((((), n),) if isinstance(n, int) else n.num) for n in amounts)
    return any(all(k > 0 for _, k in numerator) for numerator in numerators)


def _cut(e: Expr, cut: _Cut, bound: Names, hint: str | None) -> Expr:
    """The term e with a variable in place of each `store`, as that becomes a kernel of its own,
    which is added to `cut`. `bound` are the names bound around e. `hint` is the name for the kernel
    if e is itself a store (None: one is made)."""
    if not _is_divided(e):
        return e
    match e:
        case Let(p, value, body):
            given = _cut(value, cut, bound, p.name if isinstance(p, Var) else None)
            if is_layout(given) and free(given) <= cut.known - bound:
                return _cut(substitute(body, _named(p, given)), cut, bound, hint)
            return Let(p, given, _cut(body, cut, bound | _names(p), None))
        case Lam(p, body):
            return Lam(p, _cut(body, cut, bound | _names(p), None))
        case Store(inner):
            return _stored(_cut(inner, cut, bound, None), cut, bound, hint)
    return over(lambda child: _cut(child, cut, bound, None), e)


@once
def _is_divided(e: Expr) -> bool:
    """True if e is, or contains, a store or a let."""
    return isinstance(e, Let | Store) or any(map(_is_divided, children(e)))


def _stored(e: Expr, cut: _Cut, bound: Names, hint: str | None) -> Expr:
    reads = free(e)
    if inside := reads - (cut.known - bound):
        raise Unsupported(
            f"store of something that depends on {', '.join(sorted(inside))}, which a map or let "
            "around it binds; expected a store that depends on the program's parameters only"
        )
    if isinstance(e, Var):
        return e
    if e not in cut.made:
        prepack = bool(reads) and reads <= cut.constants
        name = _named_by(hint, cut) if hint else _fresh(_purpose(e, prepack, cut), cut)
        if (source := _source(reads, cut)) is not None:
            cut.sources[name] = source
        if prepack:
            cut.constants.add(name)
        cut.known.add(name)
        cut.stages.append(Stage(name, e, type_of(e), reads, prepack))
        cut.made[e] = Var(name, type_of(e))
    return cut.made[e]


def _source(reads: Names, cut: _Cut) -> str | None:
    """The one parameter that all the names `reads` are computed from; None if there are several or
    none."""
    found = {cut.sources.get(name) for name in reads}
    return found.pop() if len(found) == 1 else None


def _purpose(e: Expr, prepack: bool, cut: _Cut) -> str:
    """The name for the buffer of a kernel that computes e, if the program gives it none: the one
    parameter that e is computed from and a word for what is done to it, such as `image_padded`, or
    `partial` if there is no such parameter. `prepack` says that the kernel runs once, on
    constants."""
    source = _source(free(e), cut)
    if source is None:
        return "partial"
    if _computes(e):
        return f"{source}_transformed"
    return f"{source}_{'packed' if prepack else 'padded' if _pads(e) else 'rearranged'}"


@once
def _computes(e: Expr) -> bool:
    """True if a term does more than rearrange elements."""
    if isinstance(e, Reorder):
        return _computes(e.xs)
    made = isinstance(e, Binary | Unary | Select | Reduce | ReduceSeq)
    return made or any(map(_computes, children(e)))


@once
def _pads(e: Expr) -> bool:
    return isinstance(e, Pad | PadEdge) or any(map(_pads, children(e)))


def _named_by(let: str, cut: _Cut) -> str:
    """The name for the buffer of a let's value: the let's own name, or a fresh one if that is
    taken."""
    return _fresh(let, cut) if cut.binders[let] > 1 else _first_free(let, cut.names, cut)


def _fresh(hint: str, cut: _Cut) -> str:
    """A name like `hint` that is neither taken by a buffer nor bound inside the program."""
    return _first_free(hint, cut.names | cut.binders.keys(), cut)


def _first_free(hint: str, taken: Set[str], cut: _Cut) -> str:
    name, n = hint, 1
    while name in taken:
        n += 1
        name = f"{hint}_{n}"
    cut.names.add(name)
    return name


def _bound_inside(e: Expr) -> Iterator[str]:
    """The names that e and the terms inside it bind, each as often as it is bound."""
    for inner in subterms(e):
        if isinstance(inner, Lam | Let):
            yield from _names(inner.pattern)


def _names(p: Pattern) -> Names:
    return frozenset(v.name for v in variables(p))


def _named(p: Pattern, e: Expr) -> dict[str, Expr]:
    if isinstance(p, Var):
        return {p.name: e}
    return {k: v for i, part in enumerate(p) for k, v in _named(part, component(i, e)).items()}
