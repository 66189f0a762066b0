"""The variables that the indices of a text have: the ids of work-items, and the counters of
loops."""

# key: s statement, d dimension

from dataclasses import dataclass

from codegen.index.index import Index, constant, var
from codegen.proof.accesses import Footprint
from codegen.text_reader.c_syntax import (
    ArrayOf,
    Call,
    CStatement,
    Define,
    Fence,
    KernelText,
    Whole,
    statements_in,
)
from codegen.text_reader.c_words import IDS
from codegen.tree.memories import Space

Size = tuple[int, int, int]


def ids_of(text: KernelText, found: Footprint, group: Size, groups: Size) -> dict[str, list[Index]]:
    """For each kind of id ("global", "local" and "group") the ids of that kind as indices, one for
    each dimension; the variables that they consist of are added to `found`.

    A global id is group · group size + local id. It is one variable if the text asks for no other
    id of its dimension and has no local memory, barrier or instruction of a sub-group.
    """
    asked = {asked_id(s) for s in statements_in(text.body)}
    shared = any(isinstance(s, Fence) or _is_local(s) for s in statements_in(text.body))
    together = shared or any(i.lanes > 1 for i in text.instructions)
    ids: dict[str, list[Index]] = {"global": [], "local": [], "group": []}
    for d in range(3):
        apart = not asked.isdisjoint({("local", d), ("group", d)})
        if ("global", d) in asked and not apart and not together:
            found.groups[f"gid{d}"] = group[d] * groups[d]
            ids["global"].append(var(f"gid{d}", 0, group[d] * groups[d] - 1))
            ids["local"].append(constant(0))
            ids["group"].append(constant(0))
            continue
        found.groups[f"grp{d}"], found.locals[f"lid{d}"] = groups[d], group[d]
        ids["group"].append(var(f"grp{d}", 0, groups[d] - 1))
        ids["local"].append(var(f"lid{d}", 0, group[d] - 1))
        ids["global"].append(ids["group"][d] * group[d] + ids["local"][d])
    return ids


def asked_id(s: CStatement) -> tuple[str, int] | None:
    """The kind and dimension of the id that a statement defines; None if it defines none."""
    match s:
        case Define(value=Call(function, (Whole(d),))) if function in IDS:
            return IDS[function], d
    return None


def _is_local(s: CStatement) -> bool:
    return isinstance(s, ArrayOf) and s.space is Space.LOCAL


@dataclass(slots=True)
class LoopVariables:
    """The variables of the loops of one kernel; `counts` has the number of turns of each, and 0 for
    ids, so that no loop gets their names."""

    counts: dict[str, int]

    def variable(self, name: str, count: int) -> str:
        """The name, in indices, of the variable `name` of a loop of `count` turns: `name`, or, if a
        loop of another length has that name, a new one, since a name has one range in a kernel."""
        fresh, n = name, 1
        while self.counts.setdefault(fresh, count) != count:
            n += 1
            fresh = f"{name}·{n}"
        return fresh
