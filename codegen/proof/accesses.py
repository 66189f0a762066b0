"""The footprint of a kernel on memory: its accesses, with the loops, branches and barriers around
them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from codegen.index.atoms import Assume
from codegen.index.condition import Condition
from codegen.index.index import Index
from codegen.proof.verdicts import Kind
from codegen.tree.memories import Memory, Space
from ir.core.frozen import distinct


@distinct
class Where:
    """A place in a kernel: inside these loops (name, count), where every `given` ≥ 0 and no
    `denied` condition holds."""

    loops: tuple[tuple[str, int], ...] = ()
    given: tuple[Index, ...] = ()
    denied: tuple[Condition, ...] = ()


@distinct
class Access:
    """A read or write of memory[half][index … index + width − 1]; `text` is the kernel's wording of
    it, for messages. One that is `begun`, of a copy, happens at any time until the work-item awaits
    it."""

    memory: Memory
    index: Index
    width: int
    half: Index | None
    writes: bool
    where: Where
    text: str
    begun: bool = False


@distinct
class Claim:
    """An assumption that the tree makes about an index: lo ≤ index ≤ hi at this place."""

    atom: Assume
    where: Where
    text: str


@distinct
class Demand:
    """A demand that all goals are ≥ 0 at `where`; `text` says what for."""

    kind: Kind
    text: str
    goals: tuple[Index, ...]
    where: Where


# ---- the shape of a kernel


@distinct
class Touch:
    """The accesses that one statement makes."""

    accesses: tuple[Access, ...]


@distinct
class Meet:
    """A barrier, with the memory spaces that it makes visible."""

    spaces: frozenset[Space]


@distinct
class Awaits:
    """The place where a work-item waits for copies that it has begun: those begun since the last
    such place are a group, and all groups but the `later` latest are awaited."""

    later: int = 0


@distinct
class Gather:
    """An instruction, to which all lanes of a sub-group must come together."""

    name: str


@distinct
class Begun:
    """A call of an instruction that goes on after it. Until it is awaited, it reads local memory
    and the registers `reads`, and writes those called `makes`. If it `adds` to what they hold, it
    follows others that make them."""

    name: str
    makes: str
    reads: tuple[str, ...]
    adds: bool


@distinct
class Uses:
    """What a statement does with registers, in a kernel whose instructions go on after calls: it
    reads and writes those of these names."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


@distinct
class AwaitsProducts:
    """The place where all products are awaited that went on after calls."""


@distinct
class Settles:
    """The place from which on the register `name`, a result that was awaited, may be used."""

    name: str


@distinct
class Loop:
    """A loop of a kernel, whose variable `name` takes the values 0 … count − 1."""

    name: str
    count: int
    body: "Sequence"


@distinct
class Branch:
    """A branch under a condition; `where` is the place around it, without its own condition."""

    condition: Condition
    where: Where
    body: "Sequence"


@distinct
class Sequence:
    """Parts of a kernel, one after the other."""

    parts: tuple["Node", ...]


Node = (
    Touch
    | Meet
    | Awaits
    | Gather
    | Begun
    | Uses
    | AwaitsProducts
    | Settles
    | Loop
    | Branch
    | Sequence
)


@dataclass(slots=True)
class Footprint:
    """The footprint of a kernel: the number of values of each id of groups (`groups`) and of
    work-items in them (`locals`), its accesses, and the claims and demands that it makes.

    `respelled` has the index for each global id that is spelled by a group's id and a local one;
    `root` is the tree of all that the kernel does; `strangers` tell, as texts, of variables and
    instructions that the proof does not cover.
    """

    groups: dict[str, int]
    locals: dict[str, int]
    respelled: dict[str, Index]
    root: Sequence = field(default_factory=lambda: Sequence(()))
    accesses: list[Access] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)  # variables that are not what loops say


# ---- looking into shapes and indices


def parts_of(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside a node."""
    match node:
        case Sequence(parts):
            return parts
        case Loop(_, _, body) | Branch(_, _, body):
            return (body,)
        case Touch() | Meet() | Awaits() | Gather():
            return ()
        case Begun() | Uses() | AwaitsProducts() | Settles():
            return ()


def inside(branch: Branch) -> Where:
    """The place inside a branch: the one around it, and its condition."""
    return replace(branch.where, given=(*branch.where.given, *branch.condition.parts))


def without(where: Where, c: Condition) -> Where:
    """The place `where` with the added fact that c does not hold. A single comparison x ≥ 0 is
    turned round, −x − 1 ≥ 0; several become a denied condition."""
    if len(c.parts) == 1:
        return replace(where, given=(*where.given, -c.parts[0] - 1))
    return replace(where, denied=(*where.denied, c))


def values_taken(found: Footprint, where: Where) -> Mapping[str, int]:
    """The number of values of each variable at a place: of ids, and of the loops around."""
    return {**found.groups, **found.locals, **dict(where.loops)}
