"""From a lowered program to OpenCL text, a launch plan, and the facts about them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from codegen import places
from codegen.axes import Axis
from codegen.barriers import with_barriers
from codegen.emit import Emitter
from codegen.facts import MOST_STATEMENTS, Facts, facts, refuse_too_large
from codegen.identifiers import safe
from codegen.index import Index
from codegen.kernels import Stage, stages
from codegen.locals import with_shared_locals
from codegen.memory import Life, kept_bytes, share, total
from codegen.opencl import print_program
from codegen.places import Cell, Place, laid, view_of
from codegen.plan import Buffer, Plan, Role
from codegen.plan import Kernel as Launch
from codegen.scope import Scope
from codegen.tree import Kernel, Memory, Space
from codegen.views import View
from codegen.work import ids, work_of
from ir.errors import Unsupported
from ir.nodes import Program
from ir.types import BYTES, Array, Scalar, Tuple, Type, Vector

NO_PATH: tuple[tuple[Axis, Index], ...] = ()


@dataclass(frozen=True, slots=True)
class Generated:
    """A compiled program: what runs it, the trees it was printed from, and their facts."""

    plan: Plan
    kernels: tuple[Kernel, ...]
    facts: tuple[Facts, ...]


def generate(
    program: Program,
    *,
    max_work_group: int = 256,
    most_statements: int = MOST_STATEMENTS,
    notes: Sequence[str] = (),
) -> Generated:
    """The kernels and launch plan of a lowered program whose sizes are all numbers.

    `notes` are lines that head the text, such as the derivation of the program.
    """
    if program.free:
        raise Unsupported(f"the parameters {', '.join(program.free)} have no value yet")
    cut = stages(program)
    known = _globals(program, cut)
    kernels = tuple(_kernel(program, stage, cut[-1].name, known, max_work_group) for stage in cut)
    counted = tuple(map(facts, kernels))
    for found in counted:
        refuse_too_large(found, most_statements)
    return Generated(_plan(program, cut, known, kernels, notes), kernels, counted)


Globals = dict[str, tuple[Type, Memory]]


def _globals(program: Program, cut: tuple[Stage, ...]) -> Globals:
    types = {p.var.name: p.var.type for p in program.params} | {s.name: s.type for s in cut}
    names = _apart([safe(name) for name in types])
    return {
        name: (t, _memory(safe_name, t))
        for (name, t), safe_name in zip(types.items(), names, strict=True)
    }


def _apart(names: list[str]) -> Iterator[str]:
    """The names, those that came twice made different."""
    taken: set[str] = set()
    for name in names:
        while name in taken:
            name += "_"
        taken.add(name)
        yield name


def _memory(name: str, t: Type) -> Memory:
    scalar, shape = shape_of(name, t)
    return Memory(name, Space.GLOBAL, scalar, prod(shape))


def shape_of(name: str, t: Type) -> tuple[str, tuple[int, ...]]:
    """(scalar, dimensions) of what lies in one buffer."""
    match t:
        case Scalar(scalar):
            return scalar, ()
        case Vector(scalar, w):
            assert isinstance(w, int)
            return scalar.name, (w,)
        case Array(elem, n):
            assert isinstance(n, int)
            scalar_name, inner = shape_of(name, elem)
            return scalar_name, (n, *inner)
        case Tuple():
            raise Unsupported(f"{name} holds tuples: expected one array for each component")


def _place(t: Type, memory: Memory) -> Place:
    def allocate(where: tuple[int, ...], scalar: str, shape: places.Shape) -> places.Cells:
        return lambda i: Cell(memory, i)

    return laid(t, NO_PATH, allocate)


def _kernel(
    program: Program, stage: Stage, out: str, known: Globals, max_work_group: int
) -> Kernel:
    work = work_of(stage.body, max_work_group)
    scope = Scope(work.workers)
    scope.names |= {m.name for _, m in known.values()} | {w.name for w in work.workers.values()}
    env: dict[str, View] = {name: view_of(_place(*known[name])) for name in sorted(stage.reads)}
    _, body = scope.capture(
        lambda: Emitter(scope).emit(stage.body, env, _place(*known[stage.name]))
    )
    order = [p.var.name for p in program.params] + sorted(stage.reads)
    reads = tuple(known[name][1] for name in dict.fromkeys(order) if name in stage.reads)
    last = stage.name == out
    name = safe(program.name) if last else f"{safe(program.name)}_{stage.name}"
    kernel = Kernel(
        name,
        reads,
        (known[stage.name][1],),
        ids(work.workers),
        work.local_size,
        work.groups,
        body,
    )
    return with_barriers(with_shared_locals(kernel))


def _plan(
    program: Program,
    cut: tuple[Stage, ...],
    known: Globals,
    kernels: tuple[Kernel, ...],
    notes: Sequence[str],
) -> Plan:
    lives = _lives(cut, known)
    slots = share(lives)
    buffers = _buffers(program, cut, known, slots)
    read = {name for stage in cut if not stage.prepack for name in stage.reads}
    workspace = total(lives, slots)
    return Plan(
        print_program(kernels, notes),
        tuple(_launch(k, stage, known) for k, stage in zip(kernels, cut, strict=True)),
        tuple(buffers),
        kept_bytes(buffers, read) + workspace,
        workspace,
    )


def _launch(kernel: Kernel, stage: Stage, known: Globals) -> Launch:
    x, y, z = (g * n for g, n in zip(kernel.groups, kernel.local_size, strict=True))
    buffers = {memory: name for name, (_, memory) in known.items()}
    names = tuple(buffers[m] for m in (*kernel.reads, *kernel.writes))
    return Launch(kernel.name, (x, y, z), kernel.local_size, names, stage.prepack)


def _lives(cut: tuple[Stage, ...], known: Globals) -> list[Life]:
    lives = []
    for n, stage in enumerate(cut[:-1]):
        if not stage.prepack:
            last = max((m for m, s in enumerate(cut) if stage.name in s.reads), default=n)
            lives.append(Life(stage.name, _bytes(known[stage.name][1]), n, last))
    return lives


def _bytes(memory: Memory) -> int:
    return memory.elements * BYTES[memory.scalar]


def _buffers(
    program: Program, cut: tuple[Stage, ...], known: Globals, slots: dict[str, int]
) -> list[Buffer]:
    roles = {p.var.name: Role.CONST if p.const else Role.INPUT for p in program.params}
    for stage in cut[:-1]:
        roles[stage.name] = Role.PACKED if stage.prepack else Role.TEMPORARY
    roles[cut[-1].name] = Role.OUTPUT
    own = max(slots.values(), default=-1) + 1
    found = []
    for name, role in roles.items():
        t, memory = known[name]
        scalar, shape = shape_of(name, t)
        slot = slots.get(name)
        if slot is None:
            slot, own = own, own + 1
        found.append(Buffer(name, scalar, shape, _bytes(memory), role, slot))
    return found
