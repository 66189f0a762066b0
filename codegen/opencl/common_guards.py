"""Guards that all iterations of a loop have in common, and that are tested once, before it.

The loads of a loop may be guarded, such as those of a padded image. If no guard varies inside the
loop, its text is spelled up to three times: without guards, for where all of them hold, which is
nearly everywhere; without the guards that all loads have in common, for where these hold (a row is
inside the image, but its ends are not); and with all guards, for elsewhere. If guards vary inside
(with the rows of a window), it is spelled twice: without guards, for where all of them hold in all
turns; and with guards, for elsewhere, which the loops inside it test anew. Only guards that
work-items beside each other decide alike are taken out, so that few wait for another.
"""

# key: s statement

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

from codegen.index.atoms import Var
from codegen.index.condition import ALWAYS, NEVER, Condition, both, shared, substitute_in
from codegen.tree.kernel_values import Select, subvalues
from codegen.tree.statements import Barrier, Block, For, If, Kernel, Statement, Store, statements
from ir.core.frozen import frozen

IN_STEP = 8  # work-items beside each other, of which few should wait for others


@frozen
class CommonGuards:
    """The conditions (`tests`) to test before a loop, and whether guards vary inside it (`vary`).
    `running` are the trip counts, by variable, of the loops that stay loops in the text."""

    tests: tuple[Condition, ...]
    vary: bool
    running: Mapping[str, int]


def told_apart(kernel: Kernel) -> frozenset[str]:
    """The names of the ids that differ between neighbouring work-items of a group, which run in
    step: the ids of the first dimensions, until these have IN_STEP work-items."""
    beside, found = 1, set[str]()
    for dimension, size in enumerate(kernel.local_size):
        if size > 1 and beside < IN_STEP:
            ids = (i for i in kernel.ids if i.dimension == dimension and i.kind != "group")
            found |= {i.name for i in ids}
        beside *= size
    return frozenset(found)


def common_guards(
    loop: For, spelled: frozenset[str], values: Mapping[str, int], apart: frozenset[str]
) -> CommonGuards | None:
    """The conditions to test before a loop: first, that all guards of its loads hold; then, unless
    guards vary inside, the condition that all guards share. A condition that is always true is left
    out.

    None if nothing is left to test, if the loop has a barrier, if a guard depends on an id in
    `apart`, or if it is not enough to test a guard in a loop's first and last turn. `values` are
    those of the variables of the surrounding loops, which are spelled out; `spelled` are the
    variables of all loops that are."""
    inside = list(statements(loop))
    if any(isinstance(s, Barrier) for s in inside):
        return None
    turns = {s.var: range(s.count) for s in inside if isinstance(s, For)}
    running = {name: len(all_turns) for name, all_turns in turns.items() if name not in spelled}
    guards = dict.fromkeys(_guards(loop))
    if any(g.names & apart or not _told_by_ends(g, running) for g in guards):
        return None
    found: list[Condition] = []
    for guard in guards:
        copied = {n: turns[n] for n in sorted(guard.names & turns.keys() - running.keys())}
        found += _tested(guard, copied, _ends(guard, running), values)
    vary = any(guard.names & running.keys() for guard in guards)
    whole, each = both(*found), shared(found)
    tests = tuple(c for c in dict.fromkeys((whole,) if vary else (whole, each)) if c.parts)
    return CommonGuards(tests, vary, running) if tests and whole != NEVER else None


def _tested(
    guard: Condition,
    copied: Mapping[str, Sequence[int]],
    ends: Mapping[str, Sequence[int]],
    values: Mapping[str, int],
) -> Iterator[Condition]:
    """The conditions that a guard becomes. `copied` are spelled-out loops, with all their turns,
    and `ends` are other loops, with their first and last turns: there is a condition for each
    combination of these turns. Variables of the loops around have `values`. Turns of `copied` in
    which the guard never holds give none, as nothing is loaded in them."""
    for choice in product(*copied.values()):
        here = {**values, **dict(zip(copied, choice, strict=True))}
        found = [*_copies(guard, ends, here)]
        if any(c != NEVER for c in found):
            yield from (c for c in found if not ends or c != ALWAYS)


def in_all_turns(condition: Condition, running: Mapping[str, int]) -> Condition:
    """A condition that says that `condition` holds in all turns of the `running` loops; `condition`
    itself if its values in the first and last turns do not decide that."""
    if not condition.names & running.keys() or not _told_by_ends(condition, running):
        return condition
    return both(*_copies(condition, _ends(condition, running), {}))


def _told_by_ends(condition: Condition, running: Collection[str]) -> bool:
    """True if each comparison of a condition holds in all turns of the `running` loops if it holds
    in their first and last turns."""
    atoms = (atom for part in condition.parts for atom, _ in part.terms)
    return all(isinstance(atom, Var) or atom.names.isdisjoint(running) for atom in atoms)


def _ends(guard: Condition, running: Mapping[str, int]) -> dict[str, Sequence[int]]:
    """The first and the last turn of each of the `running` loops on whose variable a guard
    depends."""
    return {n: sorted({0, running[n] - 1}) for n in sorted(guard.names & running.keys())}


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
    guard: Condition, turns: Mapping[str, Sequence[int]], values: Mapping[str, int]
) -> Iterator[Condition]:
    """The conditions that a guard becomes: one for each combination of the values that `turns` has
    for each loop variable. Other variables have the values in `values`."""
    for choice in product(*turns.values()):
        yield substitute_in(guard, {**values, **dict(zip(turns, choice, strict=True))})
