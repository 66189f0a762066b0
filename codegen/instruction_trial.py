"""The trial of instructions: which of those in the table a device carries out, found by running a
small kernel for each."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from codegen.compile import generate
from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.devices import Device
from codegen.runtime.results import BuildFailed, GuardViolated, PoisonFound, RunFailed, Tried
from codegen.runtime.session import Session, open_device
from ir.core.instruction import Instruct
from ir.core.nodes import (
    Binary,
    Expr,
    Get,
    Let,
    Level,
    Lit,
    MapPar,
    Param,
    Program,
    Reorder,
    ToLocal,
    Var,
    Zip,
)
from ir.core.terms import identity, lam, let, variables
from ir.core.type_rules import elem_of, type_of
from ir.core.types import FLOAT, INT, Array, Scalar, Vector, leaves
from ir.errors import Unsupported
from ir.instructions.entry import Across, Alone, Copying, Entry, Listed, Loading
from ir.instructions.fragments import as_lanes, as_matrix
from ir.instructions.table import MATRIX, TABLE
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate


def instructions_of(device: Device, emulated: bool = True) -> tuple[Tried, ...]:
    """The instructions of the table that a device carries out, found by trial: those that it really
    has and, if `emulated`, those that a kernel's text emulates there."""
    session = open_device(device)
    entries = list(TABLE.values()) if emulated else _without_emulation(session)
    found = tuple(tried for entry in entries for tried in _tried(session, entry))
    return found if emulated else tuple(t for t in found if not t.emulated)


def own_instructions(device: Device) -> tuple[str, ...]:
    """The names of the instructions of the table that a device really has, found by running
    each."""
    return tuple(tried.name for tried in instructions_of(device, emulated=False))


def _without_emulation(session: Session) -> list[Listed]:
    """The entries of the table whose text, as the device's compiler reads it, uses the instruction
    itself and does not emulate it."""
    entries = list(TABLE.values())
    lines = [
        f"#if {entry.native}\n  native[{i}] = 1.0f;\n#else\n  native[{i}] = 0.0f;\n#endif\n"
        for i, entry in enumerate(entries)
    ]
    text = f"kernel void look(global float *native) {{\n{''.join(lines)}}}\n"
    native = Buffer("native", "float", (len(entries),), 4 * len(entries), Role.OUTPUT)
    look = Kernel("look", (1, 1, 1), (1, 1, 1), ("native",), False, text)
    found = np.asarray(session.build(Plan((look,), (native,), native.bytes, 0))({}))
    return [entry for entry, own in zip(entries, found, strict=True) if own]


def trial(entry: Listed) -> Program:
    """The program that runs one instruction of the table."""
    match entry:
        case Alone():
            return _alone(entry)
        case Across():
            return _across(entry)
        case Copying():
            return _copied()
        case Loading():
            return _loaded(entry)
        case Entry():
            return _together(entry)


def _alone(entry: Alone) -> Program:
    """The program that applies an instruction of a single work-item to each of some operands, which
    are the program's parameters."""
    several = tuple(Var(v.name, Array(v.type, 8)) for v in variables(entry.program.pattern))
    rows = Zip(several)
    operands = lam("row", elem_of(rows), lambda row: entry.carried_out(*_fields(row, several)))
    return Program("trial", tuple(map(Param, several)), MapPar(Level.GLOBAL, 0, operands, rows))


def _fields(row: Expr, several: tuple[Var, ...]) -> list[Expr]:
    return [Get(i, row) for i in range(len(several))]


def _across(entry: Across) -> Program:
    """The program in which the lanes of a sub-group exchange the numbers of its parameters by an
    instruction of the table, and store what each of them gets."""
    several = tuple(Var(v.name, Array(v.type, 1)) for v in variables(entry.program.pattern))

    def by_it(row: Expr) -> Expr:
        given = _fields(row, several)
        held = (MapPar(Level.LOCAL, 0, identity(elem_of(xs)), xs) for xs in given)
        return Instruct(entry.instruction, tuple(held))

    rows = Zip(several)
    body = MapPar(Level.GROUP, 0, lam("row", elem_of(rows), by_it), rows)
    return Program("trial", tuple(map(Param, several)), body)


def _copied() -> Program:
    """The program whose groups copy rows of its parameter to local memory, by copies that go on
    until they are awaited, and store them in another order."""
    rows = Var("rows", Array(Array(FLOAT, 64), 8))

    def by_copies(row: Expr) -> Expr:
        made = ToLocal(MapPar(Level.LOCAL, 0, identity(elem_of(row)), row), in_flight=True)
        backwards = lam("i", INT, lambda i: Binary("-", Lit(63, INT), i))

        def seen(staged: Expr) -> Expr:
            return MapPar(Level.LOCAL, 0, identity(elem_of(row)), Reorder(backwards, staged))

        return let("staged", made, type_of(made), seen)

    body = MapPar(Level.GROUP, 0, lam("row", elem_of(rows), by_copies), rows)
    return Program("trial", (Param(rows),), body)


def _together(entry: Entry) -> Program:
    """The program that carries out one instruction of the table, once; its operands and the sums
    that it adds to are the program's parameters."""
    *factors, _ = variables(entry.program.pattern)
    held = [*map(as_lanes, entry.fragments, factors)]
    staged = {p.operand: Var(f"staged_{p.operand}", type_of(held[p.operand])) for p in entry.placed}

    def by_it(start: Expr) -> Expr:
        given = (staged.get(n, e) for n, e in enumerate(held))
        made: Expr = Instruct(entry.instruction, (*given, start))
        for n, place in staged.items():
            rows = MapPar(Level.LOCAL, 0, identity(elem_of(held[n])), held[n])
            made = Let(place, ToLocal(rows), made)
        return made

    return _on_sums(entry, by_it)


def _loaded(entry: Loading) -> Program:
    """The program that stages a matrix in local memory, loads it by an instruction of the table,
    and multiplies it by one that takes what lanes get."""
    taker, n = next(
        (other, n)
        for other in MATRIX.values()
        for n, held in enumerate(other.fragments[:-1])
        if held == entry.held and _number(other, n) == entry.scalar
    )
    *factors, _ = variables(taker.program.pattern)

    held = [*map(as_lanes, taker.fragments, factors)]
    rows = as_lanes(entry.given, factors[n])
    staged = ToLocal(MapPar(Level.LOCAL, 0, identity(elem_of(rows)), rows))

    def by_it(start: Expr, place: Expr) -> Expr:
        given = (*held[:n], entry.of_rows(place), *held[n + 1 :], start)
        return Instruct(taker.instruction, given)

    def loaded(start: Expr) -> Expr:
        return let("staged", staged, type_of(staged), lambda place: by_it(start, place))

    return _on_sums(taker, loaded)


def _number(entry: Entry, n: int) -> Scalar | Vector:
    """The type of the numbers of operand n of an instruction."""
    (found,) = {*leaves(variables(entry.program.pattern)[n].type)}
    return found


def _on_sums(entry: Entry, made: Callable[[Expr], Expr]) -> Program:
    """The program that carries out an instruction of the table, once: `made` is what lanes get, by
    the sums that they start from. The sums and the instruction's matrices are its parameters."""
    *factors, sums = variables(entry.program.pattern)
    several = Var(sums.name, Array(sums.type, 1))

    def by_it(matrix: Expr) -> Expr:
        start = as_lanes(entry.fragments[-1], matrix)
        start = MapPar(Level.LOCAL, 0, identity(elem_of(start)), start)
        return as_matrix(entry.fragments[-1], made(start))

    body = MapPar(Level.GROUP, 0, lam("sums", sums.type, by_it), several)
    assert type_of(body) == several.type
    return Program("trial", tuple(map(Param, (*factors, several))), body)


def _tried(session: Session, entry: Listed) -> Iterator[Tried]:
    """The instruction, if a device builds the program that tries it and gets the right result: one
    item, or none."""
    p = trial(entry)
    inputs = random_inputs(p, 1, integers=True)
    try:
        plan = generate(p).plan
        out = np.asarray(session.build(plan, checking=True)(inputs))
    except (BuildFailed, RunFailed, GuardViolated, PoisonFound, Unsupported):
        return
    if np.array_equal(out, np.asarray(evaluate(p, inputs))):
        yield Tried(entry.name, emulated=not _by_itself(session, entry, plan))


def _by_itself(session: Session, entry: Listed, plan: Plan) -> bool:
    """True if the kernels of a plan still build where the instruction may not be emulated."""
    only = f"#if !({entry.native})\n#error {entry.name} is emulated here\n#endif"
    kernels = tuple(replace(k, needs=(only, *k.needs)) for k in plan.kernels)
    try:
        session.build(replace(plan, kernels=kernels), checking=True)
    except BuildFailed:
        return False
    return True
