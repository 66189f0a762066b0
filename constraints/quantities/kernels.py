"""The kernels that a program becomes: one for each `store`, one for its result."""

# key: e term, p pattern

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ir.core.nodes import (
    AsScalar,
    AsVector,
    Expr,
    Join,
    Lam,
    Let,
    MapPar,
    Pad,
    PadEdge,
    Program,
    Split,
    Store,
    Transpose,
    Var,
)
from ir.core.size import Size
from ir.core.terms import children, free, once, rebuild, variables

Reads = frozenset[str]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A term that is written to the buffer `output` by one launch."""

    output: str
    term: Expr
    reads: Reads  # buffers: parameters, and outputs of other kernels
    prepack: bool  # depends on constants alone


@lru_cache(maxsize=4)
def kernels(program: Program) -> tuple[Kernel, ...]:
    """In launch order; the last one writes the result."""
    walk = _Walk(frozenset(p.var.name for p in program.params if p.const))
    env = {p.var.name: frozenset({p.var.name}) for p in program.params}
    body = _opened(program.body)
    reads = walk.reads(body, env)
    return (*walk.found, Kernel("result", body, reads, False))


def _opened(e: Expr) -> Expr:
    """The output is made real anyway: a `store` on the way to it is the output itself."""
    match e:
        case Store(inner):
            return _opened(inner)
        case Let(p, value, body):
            return Let(p, value, _opened(body))
        case Join() | Split() | Transpose() | AsScalar() | AsVector():
            return rebuild(e, (*children(e)[:-1], _opened(e.xs)))
        case Pad(l, r, _, xs) | PadEdge(_, l, r, xs) if not (_adds(l) or _adds(r)):
            return rebuild(e, (*children(e)[:-1], _opened(xs)))
    return e


def _adds(amount: Size) -> bool:
    """Whether an amount of padding is more than nothing, whatever the parameters are."""
    if isinstance(amount, int):
        return amount > 0
    return all(k > 0 for _, k in amount.num)


@dataclass(slots=True)
class _Walk:
    constant: Reads
    found: list[Kernel] = field(default_factory=list)
    named: dict[tuple[Expr, tuple[tuple[str, Reads], ...]], str] = field(default_factory=dict)

    def reads(self, e: Expr, env: Mapping[str, Reads]) -> Reads:
        """The buffers that e reads; the kernels of stores inside it are noted first."""
        match e:
            case Var(name, _):
                return env.get(name, frozenset())
            case Store(Var() | Store() as a):
                return self.reads(a, env)
            case Store(a):
                return frozenset({self.stored(e, a, env)})
            case Let(p, value, body):
                found = self.reads(value, env)
                return self.reads(body, {**env, **{v.name: found for v in variables(p)}})
            case Lam(p, body):
                return self.reads(body, {**env, **{v.name: frozenset() for v in variables(p)}})
        return frozenset().union(*(self.reads(c, env) for c in children(e)))

    def stored(self, e: Expr, a: Expr, env: Mapping[str, Reads]) -> str:
        key = e, tuple(sorted((x, env.get(x, frozenset())) for x in free(e)))
        if key not in self.named:
            reads = self.reads(a, env)
            name = f"stored{len(self.found)}"
            prepack = bool(reads) and reads <= self.constant
            self.constant |= {name} if prepack else frozenset()
            self.found.append(Kernel(name, a, reads, prepack))
            self.named[key] = name
        return self.named[key]


@once
def parallel(e: Expr) -> tuple[MapPar, ...]:
    """The parallel maps of a kernel, without those of other kernels inside."""
    return tuple(inner for inner in _here(e) if isinstance(inner, MapPar))


def _here(e: Expr) -> Iterator[Expr]:
    left = [e]
    while left:
        inner = left.pop()
        yield inner
        left.extend(c for c in reversed(children(inner)) if not isinstance(c, Store))
