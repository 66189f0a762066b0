"""A program cut into kernels: each `store` is a buffer made by a kernel of its own."""

# key: e term, t what a store holds

from dataclasses import dataclass, field

from ir.core.nodes import (
    AsScalar,
    AsVector,
    Expr,
    Join,
    Let,
    Pad,
    PadEdge,
    Pattern,
    Program,
    Split,
    Store,
    Transpose,
    Var,
)
from ir.core.size import Size
from ir.core.terms import children, component, free, once, over, rebuild, substitute
from ir.core.type_rules import type_of
from ir.core.types import Type
from ir.core.views import is_layout
from ir.errors import Unsupported


@dataclass(frozen=True, slots=True)
class Stage:
    """`name` = body, which names parameters and earlier stages."""

    name: str
    body: Expr
    type: Type
    reads: frozenset[str]
    prepack: bool = False


@dataclass(slots=True)
class _Cut:
    names: set[str]
    known: set[str]  # what a kernel may name: parameters and stages
    constants: set[str]
    stages: list[Stage] = field(default_factory=list)
    made: dict[Expr, Var] = field(default_factory=dict)


def stages(program: Program) -> tuple[Stage, ...]:
    """The kernels of a program in an order in which they can run; the last makes the output."""
    params = {p.var.name for p in program.params}
    constants = {p.var.name for p in program.params if p.const}
    cut = _Cut(set(params), set(params), constants)
    body = _cut(_outermost(program.body), cut, None)
    name = _fresh("out" if program.name != "out" else "result", cut)
    reads = free(body) & cut.known
    return (*cut.stages, Stage(name, body, type_of(body), reads))


def _outermost(e: Expr) -> Expr:
    """The output is made real anyway: a store on the way to it is the output itself."""
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
    """Whether one of these amounts of padding is more than nothing, whatever the parameters are."""
    numerators = (((((), n),) if isinstance(n, int) else n.num) for n in amounts)
    return any(all(k > 0 for _, k in numerator) for numerator in numerators)


def _cut(e: Expr, cut: _Cut, hint: str | None) -> Expr:
    """e with its closed stores made stages of their own."""
    if not _is_divided(e):
        return e
    match e:
        case Let(p, value, body):
            given = _cut(value, cut, p.name if isinstance(p, Var) else None)
            if is_layout(given) and free(given) <= cut.known:
                return _cut(substitute(body, _named(p, given)), cut, hint)
            return Let(p, given, _cut(body, cut, None))
        case Store(inner):
            return _stored(_cut(inner, cut, None), cut, hint)
    return over(lambda child: _cut(child, cut, None), e)


@once
def _is_divided(e: Expr) -> bool:
    """Whether a store or a let occurs in e."""
    return isinstance(e, Let | Store) or any(map(_is_divided, children(e)))


def _stored(e: Expr, cut: _Cut, hint: str | None) -> Expr:
    reads = free(e)
    if not reads <= cut.known:
        inside = ", ".join(sorted(reads - cut.known))
        raise Unsupported(
            f"store of something that depends on {inside}, which a map or let around it binds; "
            "expected a store that depends on the program's parameters only"
        )
    if isinstance(e, Var):
        return e
    if e not in cut.made:
        name = _fresh(hint or f"stored{len(cut.stages) + 1}", cut)
        prepack = bool(reads) and reads <= cut.constants
        if prepack:
            cut.constants.add(name)
        cut.known.add(name)
        cut.stages.append(Stage(name, e, type_of(e), reads, prepack))
        cut.made[e] = Var(name, type_of(e))
    return cut.made[e]


def _fresh(hint: str, cut: _Cut) -> str:
    name, n = hint, 1
    while name in cut.names:
        n += 1
        name = f"{hint}_{n}"
    cut.names.add(name)
    return name


def _named(p: Pattern, e: Expr) -> dict[str, Expr]:
    if isinstance(p, Var):
        return {p.name: e}
    return {k: v for i, part in enumerate(p) for k, v in _named(part, component(i, e)).items()}
