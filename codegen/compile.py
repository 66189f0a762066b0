"""The compiler from a lowered program to OpenCL text, a launch plan, and the facts about them."""

from functools import lru_cache
from math import prod
from typing import Protocol

from codegen.emit import write_places as places
from codegen.emit.emitter import Emitter
from codegen.emit.read_views import View
from codegen.emit.scope import Scope
from codegen.emit.work_size import ids, work_of
from codegen.emit.write_places import NOWHERE, Cell, Place, laid, view_of
from codegen.kernel_facts import MOST_STATEMENTS, Facts, facts, refuse_too_large
from codegen.memory.barriers import with_barriers
from codegen.memory.begun_copies import with_copies_past
from codegen.memory.copied_variables import without_copied_variables
from codegen.memory.early_barriers import with_early_barriers
from codegen.memory.gathered_lanes import with_stretches_loaded
from codegen.memory.loaded_together import with_neighbours_loaded
from codegen.memory.local_buffers import with_shared_locals
from codegen.memory.narrow_reals import computed_as_floats
from codegen.memory.products_awaited import with_products_awaited
from codegen.memory.shared_operands import with_shared_operands
from codegen.memory.steps_ahead import with_steps_ahead
from codegen.memory.unread_memory import without_unread_memory
from codegen.opencl.print_kernel import print_kernel, print_kernel_in_bytes
from codegen.plan import Buffer, Plan, Role
from codegen.plan import Kernel as Launch
from codegen.tree import emitted_names as names
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Kernel
from ir.arena import Arena, lives, packed
from ir.core.cut_kernels import Stage, stages
from ir.core.frozen import frozen
from ir.core.nodes import Expr, Program
from ir.core.types import Type
from ir.errors import Unsupported
from ir.meaning.inputs import parts_of, scalar_of, shape_of


@frozen
class Generated:
    """A compiled program: the plan that runs it, the statement trees it was printed from, and their
    facts."""

    plan: Plan
    kernels: tuple[Kernel, ...]
    facts: tuple[Facts, ...]


class Limits(Protocol):
    """The limits of a device that code generation asks for; `generate` tells what they mean."""

    @property
    def group_items(self) -> int: ...
    @property
    def half_arithmetic(self) -> bool: ...
    @property
    def byte_addresses(self) -> bool: ...


def generate_for(program: Program, limits: Limits) -> Generated:
    """The kernels and launch plan of a lowered program whose sizes are all numbers, for a device
    with these limits."""
    return generate(
        program,
        max_work_group=limits.group_items,
        half_arithmetic=limits.half_arithmetic,
        byte_addresses=limits.byte_addresses,
    )


def generate(
    program: Program,
    *,
    max_work_group: int = 256,
    most_statements: int = MOST_STATEMENTS,
    half_arithmetic: bool = False,
    byte_addresses: bool = False,
) -> Generated:
    """The kernels and launch plan of a lowered program whose sizes are all numbers, for devices
    whose groups have up to `max_work_group` work-items.

    A device with `half_arithmetic` computes with halves; for others, halves are kept in memory
    only, and are computed with as floats. For one with `byte_addresses`, global memory
    is addressed by distances in bytes. Raises Unsupported for a program with free parameters,
    TooLarge for a kernel of more than `most_statements` statements.
    """
    if program.free:
        raise Unsupported(
            f"expected a value for each parameter, found none for {', '.join(program.free)}"
        )
    cut = stages(program)
    known = _globals(program, cut)
    last = cut[-1].name
    kernels = tuple(
        without_copied_variables(_kernel(program, stage, last, known, max_work_group))
        for stage in cut
    )
    kernels = tuple(map(with_stretches_loaded, kernels))
    narrow = frozenset({"bfloat"} if half_arithmetic else {"bfloat", "half"})
    kernels = tuple(
        with_products_awaited(
            with_neighbours_loaded(
                with_steps_ahead(with_shared_operands(computed_as_floats(kernel, narrow)))
            )
        )
        for kernel in kernels
    )
    counted = tuple(map(facts, kernels))
    for found in counted:
        refuse_too_large(found, most_statements)
    return Generated(_plan(program, cut, known, kernels, byte_addresses), kernels, counted)


Memories = dict[tuple[int, ...], Memory]
"""For each part of a tuple, by the way to it; an array without tuples has one, at ()."""

Globals = dict[str, tuple[Type, Memories]]


def _globals(program: Program, cut: tuple[Stage, ...]) -> Globals:
    types = {p.var.name: p.var.type for p in program.params} | {s.name: s.type for s in cut}
    taken: set[str] = set()
    return {name: (t, _memories(name, t, taken)) for name, t in types.items()}


def _memories(name: str, t: Type, taken: set[str]) -> Memories:
    found = {}
    for where, part in parts_of(t):
        stem = names.stem("_".join([name, *map(str, where)]))
        found[where] = _memory(
            names.apart(stem, "_", taken), scalar_of(part).name, prod(shape_of(part))
        )
    return found


@lru_cache(maxsize=1 << 12)
def _memory(name: str, scalar: str, elements: int) -> Memory:
    """The global memory that stands in statement trees for the buffer `name` of so many `elements`
    of type `scalar`: one object for buffers of equal names, types and sizes, so that programs can
    share kernels."""
    return Memory(name, Space.GLOBAL, scalar, elements)


def _place(t: Type, memories: Memories) -> Place:
    def allocate(where: tuple[int, ...], scalar: str, shape: places.Shape) -> places.Cells:
        return lambda i: Cell(memories[where], i)

    return laid(t, NOWHERE, allocate)


def _kernel(
    program: Program, stage: Stage, out: str, known: Globals, max_work_group: int
) -> Kernel:
    last = stage.name == out
    return _emitted(
        names.variable(program.name if last else f"{program.name}_{stage.name}"),
        stage.body,
        tuple(_given(name, known) for name in known if name in stage.reads),
        _given(stage.name, known),
        frozenset(m.name for _, parts in known.values() for m in parts.values()),
        max_work_group,
    )


Given = tuple[str, Type, tuple[tuple[tuple[int, ...], Memory], ...]]
"""What a name stands for, and where that is."""


def _given(name: str, known: Globals) -> Given:
    t, memories = known[name]
    return name, t, tuple(memories.items())


@lru_cache(maxsize=512)
def _emitted(
    name: str, e: Expr, reads: tuple[Given, ...], to: Given, taken: frozenset[str], most: int
) -> Kernel:
    """The kernel called `name` that computes the term e from the buffers `reads` and writes it to
    the buffers `to`.

    Names in `taken` are not given to anything else; a group has up to `most` work-items. Kernels
    are remembered, as variants of a program often share them.
    """
    work = work_of(e, most)
    scope = Scope(work.workers)
    scope.names |= taken | {w.name for w in work.workers.values()}
    env: dict[str, View] = {x: view_of(_place(t, dict(memories))) for x, t, memories in reads}
    _, written, made = to
    _, body = scope.capture(lambda: Emitter(scope).emit(e, env, _place(written, dict(made))))
    kernel = Kernel(
        name,
        tuple(memory for _, _, memories in reads for _, memory in memories),
        tuple(memory for _, memory in made),
        ids(work.workers),
        work.local_size,
        work.groups,
        body,
    )
    met = with_early_barriers(with_barriers(with_shared_locals(without_unread_memory(kernel))))
    return with_copies_past(met)


def _plan(
    program: Program,
    cut: tuple[Stage, ...],
    known: Globals,
    kernels: tuple[Kernel, ...],
    byte_addresses: bool,
) -> Plan:
    arena, offsets = _temporaries(cut, known)
    buffers = _buffers(program, cut, known, offsets)
    used = {name for stage in cut if not stage.prepack for name in stage.reads}
    read = {_part(name, where) for name in used for where in known[name][1]}
    return Plan(
        tuple(
            _launch(k, stage, known, byte_addresses) for k, stage in zip(kernels, cut, strict=True)
        ),
        tuple(buffers),
        _kept_bytes(buffers, read) + arena.bytes,
        arena.bytes,
    )


def _launch(kernel: Kernel, stage: Stage, known: Globals, in_bytes: bool) -> Launch:
    x, y, z = (g * n for g, n in zip(kernel.groups, kernel.local_size, strict=True))
    buffers = {m: _part(name, w) for name, (_, found) in known.items() for w, m in found.items()}
    names = tuple(buffers[m] for m in (*kernel.reads, *kernel.writes))
    text, needs = print_kernel_in_bytes(kernel) if in_bytes else print_kernel(kernel)
    return Launch(kernel.name, (x, y, z), kernel.local_size, names, stage.prepack, text, needs)


def _part(name: str, where: tuple[int, ...]) -> str:
    """The name of the buffer of the variable `name`, such as `xs`. If the variable is a tuple, each
    component has a buffer, whose name also has the path `where` to it: `xs.0`."""
    return ".".join([name, *map(str, where)])


def _temporaries(cut: tuple[Stage, ...], known: Globals) -> tuple[Arena, dict[str, int]]:
    """The arena of the buffers that the kernels `cut` make for later ones, and the offset of each
    in it, by name; `known` has the memories of each kernel's result."""
    needed = lives([(stage.name, stage.reads) for stage in cut if not stage.prepack])
    parts = [
        (_part(name, where), life, memory.bytes)
        for name, life in needed.items()
        for where, memory in known[name][1].items()
    ]
    arena = packed([life for _, life, _ in parts], [size for _, _, size in parts])
    return arena, dict(zip([name for name, _, _ in parts], arena.offsets, strict=True))


def _buffers(
    program: Program, cut: tuple[Stage, ...], known: Globals, offsets: dict[str, int]
) -> list[Buffer]:
    roles = {p.var.name: Role.CONST if p.const else Role.INPUT for p in program.params}
    for stage in cut[:-1]:
        roles[stage.name] = Role.PACKED if stage.prepack else Role.TEMPORARY
    roles[cut[-1].name] = Role.OUTPUT
    found = []
    for name, role in roles.items():
        t, memories = known[name]
        for where, inner in parts_of(t):
            part = _part(name, where)
            scalar, shape = scalar_of(inner).name, shape_of(inner)
            size, offset = memories[where].bytes, offsets.get(part)
            found.append(Buffer(part, scalar, shape, size, role, offset))
    return found


def _kept_bytes(buffers: list[Buffer], read: set[str]) -> int:
    """The bytes of `buffers` that are live during a run besides temporaries: inputs, outputs, and
    those constants, as given or packed, whose names are in `read`."""
    return sum(
        b.bytes
        for b in buffers
        if b.role in (Role.INPUT, Role.OUTPUT, Role.PACKED)
        or (b.role is Role.CONST and b.name in read)
    )
