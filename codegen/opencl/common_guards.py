"""Guards that all iterations of a loop have in common, and that are tested once, before it.

Where the loads of a loop are guarded (a padded image) and no guard varies inside, the loop is
spelled up to three times: without guards, where all of them hold, which is nearly everywhere; with
the guards that are left, where those that all loads have in common hold (a row is inside the image,
not so its ends); and with all guards elsewhere. Only guards that all work-items of a group decide
alike are taken out, so that none waits for another.
"""

# key: s statement

from collections.abc import Iterator, Mapping
from itertools import product

from codegen.index.condition import NEVER, Condition, both, shared, substitute_in
from codegen.tree.statements import (
    Barrier,
    Block,
    For,
    If,
    Kernel,
    Select,
    Statement,
    Store,
    statements,
    subvalues,
)


def told_apart(kernel: Kernel) -> frozenset[str]:
    """The ids that differ between work-items of a group."""
    return frozenset(
        i.name for i in kernel.ids if i.kind != "group" and kernel.local_size[i.dimension] > 1
    )


def common_guards(
    loop: For, spelled: frozenset[str], values: Mapping[str, int], apart: frozenset[str]
) -> tuple[Condition, ...]:
    """The conditions to test before a loop: that all guards of its loads hold, then what all guards
    have in common; one that is always true is left out.

    () if a guard varies with a loop inside that is not `spelled` out or with an id in `apart`, or
    if there is a barrier inside. `values` are those of the spelled-out loops around.
    """
    inside = list(statements(loop))
    if any(isinstance(s, Barrier) for s in inside):
        return ()
    loops = {s.var: s.count for s in inside if isinstance(s, For)}
    varying = (loops.keys() - spelled) | apart
    found: list[Condition] = []
    for guard in dict.fromkeys(_guards(loop)):
        if guard.names & varying:
            return ()
        found += _copies(guard, {n: loops[n] for n in sorted(guard.names & loops.keys())}, values)
    whole, each = both(*found), shared(found)
    return tuple(c for c in dict.fromkeys((whole, each)) if c.parts)


def _guards(s: Statement) -> Iterator[Condition]:
    """The conditions of all selections in a statement."""
    match s:
        case Block(inner):
            for each in inner:
                yield from _guards(each)
        case For(_, _, body, _) | If(_, body):
            yield from _guards(body)
        case Store(_, _, value, _):
            for e in subvalues(value):
                if isinstance(e, Select):
                    yield e.condition


def _copies(
    guard: Condition, counts: Mapping[str, int], values: Mapping[str, int]
) -> Iterator[Condition]:
    """The conditions that a guard becomes in the copies that spelled-out loops make of it, without
    those that never hold; `counts` are the loops' trip counts."""
    for choice in product(*map(range, counts.values())):
        here = substitute_in(guard, {**values, **dict(zip(counts, choice, strict=True))})
        if here != NEVER:
            yield here
