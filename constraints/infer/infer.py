"""The inference of all constraints on a program's parameters, by a walk through the typed
program."""

# key: e term, p parameter

from collections.abc import Iterable, Iterator, Mapping

from constraints.devices import Profile
from constraints.infer.device_limits import limits
from constraints.infer.nesting import mixed, nesting
from constraints.infer.obligations import obligations, parameters, positives
from constraints.infer.size_obligations import of_size, plainly_positive
from constraints.quantities.kernels import kernels
from constraints.quantities.quantities import Quantities, quantities
from constraints.relations.relations import (
    AtMost,
    Constraint,
    Relation,
    System,
    distinct,
    holds,
    scope,
    sizes,
)
from ir.core.nodes import At, Expr, Pad, PadEdge, Program
from ir.core.size import Name, Size, named
from ir.core.terms import subterms


def infer(
    program: Program,
    device: Profile,
    extra: Iterable[Constraint] = (),
    max_memory: int | None = None,
) -> System:
    """The system of constraints of a lowered program on a device; `extra` are a strategy's own,
    `max_memory` is the user's limit in bytes."""
    found = [*extra, *nesting(program.body), *parameters(program)]
    found += obligations(program.body, device.vector_widths)
    found += [c for k in kernels(program) for c in mixed(k.term)]
    found += _limits(quantities(program), device, max_memory, positives(found))
    floors = _floors(program, frozenset(c.relation for c in found))
    found = [*(_floor(p, low) for p, low in floors.items()), *found]
    kept = (c for c in distinct(found) if not _trivial(c, floors))
    return System(tuple(program.free), tuple(kept))


def _limits(
    q: Quantities, device: Profile, max_memory: int | None, positive: frozenset[Size]
) -> Iterator[Constraint]:
    for c in limits(q, device, max_memory):
        for size in sizes(c.relation):
            yield from of_size(size, c.origin, positive)
        yield c


def _floors(program: Program, found: frozenset[Relation]) -> dict[str, int]:
    """The least value of each parameter: 1 for one used as a size or required to be at least 1 in
    `found`, 0 for one used only to pad, crop or index."""
    none = {p for e in subterms(program.body) for a in _amounts(e) for p in _alone(a)}
    counted = {p for p in program.free if AtMost(1, named(p)) in found}
    return {p: 0 if p in none - counted else 1 for p in program.free}


def _amounts(e: Expr) -> tuple[Size, ...]:
    match e:
        case Pad() | PadEdge():
            return e.left, e.right
        case At(k):
            return (k,)
    return ()


def _alone(amount: Size) -> frozenset[str]:
    """The names that are terms by themselves in the sum `amount`."""
    terms = () if isinstance(amount, int) else amount.num
    alone = [m[0] for m, _ in terms if len(m) == 1]
    return frozenset(a.name for a, power in alone if power == 1 and isinstance(a, Name))


def _floor(p: str, low: int) -> Constraint:
    what = "an amount, or an index" if low == 0 else "a size"
    return Constraint(AtMost(low, named(p)), f"{p} is {what}", p)


def _trivial(c: Constraint, floors: Mapping[str, int]) -> bool:
    """True if a constraint holds for all values of the parameters that are at least `floors`."""
    if not scope(c.relation):
        return holds(c.relation, {})
    bare = c.origin in floors
    return not bare and plainly_positive(c.relation, floors)
