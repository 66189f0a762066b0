"""A simulator of kernel texts: it runs all work-items, statement by statement, and finds the faults
that the proof of the text must find.

It shares nothing with the proof but the reader: indices are numbers here, one for each work-item.
Values of data are not computed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.text_reader.c_syntax import (
    ArrayOf,
    Assign,
    Braces,
    Branches,
    Call,
    Cast,
    CExpr,
    Choice,
    Counted,
    CStatement,
    Define,
    Element,
    Fence,
    Function,
    Infix,
    KernelText,
    Lanes,
    Name,
    Negative,
    Pointed,
    Pointer,
    Real,
    Registers,
    StoreVector,
    Whole,
)
from codegen.text_reader.read_kernel import read_kernel
from codegen.tree.memories import Space
from ir.core.types import BYTES

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
MOST_STEPS = 400_000_000  # work-items times statements, each as often as it runs
BASE = 64  # bytes that a global buffer begins at a multiple of


class TooLong(Exception):
    """Raised when a kernel takes too long to simulate."""


@dataclass(frozen=True)
class Int:
    """A whole number for each work-item (`at`); `wide` says that its C type is long, not int."""

    at: Numbers
    wide: bool = False


Value = Int | None  # None: data


@dataclass
class Array:
    name: str
    space: Space
    scalar: str
    elements: int
    unit: int  # scalars of an element
    aligned: int


@dataclass
class Touched:
    """The accesses to one array, in lists with an entry for each: the cells, the work-items, the
    number of barriers each item had passed (`clocks`), and which accesses were writes."""

    cells: list[Numbers] = field(default_factory=list)
    items: list[Numbers] = field(default_factory=list)
    clocks: list[Numbers] = field(default_factory=list)
    writes: list[Mask] = field(default_factory=list)

    def columns(self) -> tuple[Numbers, Numbers, Numbers, Mask]:
        joined = np.concatenate
        return joined(self.cells), joined(self.items), joined(self.clocks), joined(self.writes)


OPERATORS: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "&": np.bitwise_and,
    "^": np.bitwise_xor,
    "|": np.bitwise_or,
    "<<": np.left_shift,
    ">>": np.right_shift,
}


class Simulation:
    """The simulation of one launch: its accesses (`touched`) and its `faults`.

    Faults are "bounds", "race", "barrier", "lanes", "alignment", "overflow" and "division".
    """

    def __init__(self, text: KernelText, launch: Kernel, elements: Mapping[str, int]) -> None:
        self.faults: set[str] = set()
        self.touched: dict[str, Touched] = {}
        self.size, self.steps = launch.local_size, 0
        self.ids = dict(_ids(launch))
        self.count = prod(launch.global_size)
        groups = [n // s for n, s in zip(launch.global_size, launch.local_size, strict=True)]
        self.instructions = {i.name: i.lanes for i in text.instructions}
        x, y, z = (self.ids["get_group_id", d] for d in range(3))
        self.groups = (z * groups[1] + y) * groups[0] + x
        self.clock = {space: np.zeros(self.count, np.int64) for space in Space}
        self.scope: dict[str, Value | Array | Function] = {}
        self.walking: dict[str, Int] = {}  # what loops add to, whose names are theirs alone
        self.arrays: dict[str, Array] = {}
        for p in text.parameters:
            self.array(Array(p.name, Space.GLOBAL, p.scalar, elements[p.name], 1, BASE))
        self.scope |= {f.name: f for f in text.functions}
        self.run(text.body, np.ones(self.count, bool))
        for name, touched in self.touched.items():
            if self.races(self.arrays[name], touched):
                self.faults.add("race")

    def array(self, array: Array) -> None:
        self.scope[array.name] = self.arrays[array.name] = array

    # ---- statements

    def run(self, s: CStatement, on: Mask) -> None:
        if not on.any():
            return
        self.steps += self.count
        if self.steps > MOST_STEPS:
            raise TooLong
        match s:
            case Braces(inner):
                outer = dict(self.scope)
                for each in inner:
                    self.run(each, on)
                self.scope = outer
            case Define(name, scalar, Call(function, (Whole(d, _),))) if function in _KINDS:
                self.scope[name] = self.fits(self.ids[function, d], scalar == "long", on)
            case Define(name, scalar, value):
                found = self.value(value, on)
                assert found is not None
                self.scope[name] = self.fits(found.at, scalar == "long", on)
            case Registers(_, names):
                for name, initial in names:
                    self.scope[name] = None
                    if initial is not None:
                        self.value(initial, on)
            case ArrayOf(space, kind, name, size, aligned):
                unit = kind.width
                natural = unit * BYTES[kind.scalar]
                self.array(Array(name, space, kind.scalar, size * unit, unit, aligned or natural))
            case Assign(targets, value):
                if isinstance(value, Call) and value.function in self.instructions:
                    self.gather(self.instructions[value.function], on)
                self.value(value, on)
                for target in targets:
                    self.store(target, on)
            case StoreVector(width, _, value, offset, pointer):
                self.value(value, on)
                self.vector(width, offset, pointer, on, True)
            case Fence(spaces):
                self.meet(spaces, on)
            case Branches(test, then, otherwise):
                found = self.value(test, on)
                assert found is not None
                self.run(then, on & (found.at != 0))
                self.run(otherwise, on & (found.at == 0))
            case Counted(name, scalar, count, body, _, walks, steps):
                outer = dict(self.scope)
                for walker, start in walks:
                    begun = self.value(start, on)
                    assert begun is not None
                    self.walking[walker] = self.fits(begun.at, False, on)
                for k in range(count):
                    self.scope[name] = Int(np.full(self.count, k, np.int64), scalar == "long")
                    self.run(body, on)
                    for walker, step in steps:
                        now = self.walking[walker].at
                        self.walking[walker] = self.fits(now + np.where(on, step, 0), False, on)
                self.scope = outer

    def meet(self, spaces: frozenset[Space], on: Mask) -> None:
        here = np.bincount(self.groups, on)
        if ((here != 0) & (here != prod(self.size))).any():
            self.faults.add("barrier")
        for space in spaces:
            self.clock[space] = self.clock[space] + on

    def gather(self, lanes: int, on: Mask) -> None:
        """Note the fault "lanes" if the work-items in `on`, which reach an instruction, are some of
        the `lanes` lanes of a sub-group, but not all; dimension 0 of a group is its lanes."""
        _, y, z = (self.ids["get_local_id", d] for d in range(3))
        here = np.bincount((self.groups * self.size[2] + z) * self.size[1] + y, on)
        if ((here != 0) & (here != lanes)).any():
            self.faults.add("lanes")

    def store(self, target: CExpr, on: Mask) -> None:
        match target:
            case Lanes(whole, _):
                self.store(whole, on)
            case Element() | Pointed():
                self.access(target, on, True)

    # ---- values

    def value(self, e: CExpr, on: Mask) -> Value:
        match e:
            case Name(name):
                found = self.walking.get(name) or self.scope[name]
                assert found is None or isinstance(found, Int)
                return found
            case Whole(number, wide):
                return Int(np.full(self.count, number, np.int64), wide)
            case Real():
                return None
            case Element() | Pointed():
                self.access(e, on, False)
            case Lanes(inner, _):
                self.value(inner, on)
            case Cast(kind, parts):
                first, *_ = [self.value(part, on) for part in parts]
                if first is not None and kind.width == 1 and kind.scalar == "uint":
                    if (first.at < 0)[on].any():
                        self.faults.add("overflow")
                    return first
                if first is not None and kind.width == 1 and kind.scalar in ("int", "long"):
                    return self.fits(first.at, kind.scalar == "long", on)
            case Negative(inner):
                one = self.value(inner, on)
                return None if one is None else self.fits(-one.at, one.wide, on)
            case Call():
                return self.call(e, on)
            case Infix():
                return self.infix(e, on)
            case Choice(test, a, b):
                return self.choice(self.value(test, on), a, b, on)
        return None

    def choice(self, test: Value, a: CExpr, b: CExpr, on: Mask) -> Value:
        if test is None:
            self.value(a, on)
            self.value(b, on)
            return None
        yes = test.at != 0
        x, y = self.value(a, on & yes), self.value(b, on & ~yes)
        if x is None or y is None:
            return None
        return Int(np.where(yes, x.at, y.at), x.wide or y.wide)

    def infix(self, e: Infix, on: Mask) -> Value:
        a = self.value(e.left, on)
        if e.op == "&&":
            b = self.value(e.right, on if a is None else on & (a.at != 0))
            if a is None or b is None:
                return None
            return Int(((a.at != 0) & (b.at != 0)).astype(np.int64))
        b = self.value(e.right, on)
        if a is None or b is None:
            return None
        wide = a.wide or b.wide
        if e.op in ("/", "%"):
            return Int(self.divided(e.op, a.at, b.at, on), wide)
        found = OPERATORS[e.op](a.at, b.at).astype(np.int64)
        return self.fits(found, wide, on)

    def divided(self, op: str, a: Numbers, b: Numbers, on: Mask) -> Numbers:
        """The quotient (`op` is "/") or remainder ("%") of a by b as C rounds it, towards zero;
        notes the fault "division" if b is 0 for a work-item in `on`."""
        if (b[on] == 0).any():
            self.faults.add("division")
        b = np.where(b == 0, 1, b)
        q: Numbers = np.abs(a) // np.abs(b) * np.sign(a) * np.sign(b)
        return q if op == "/" else a - q * b

    def fits(self, numbers: Numbers, wide: bool, on: Mask) -> Int:
        low, high = (-(2**63), 2**63 - 1) if wide else (-(2**31), 2**31 - 1)
        if ((numbers < low) | (numbers > high))[on].any():
            self.faults.add("overflow")
        return Int(numbers, wide)

    def call(self, e: Call, on: Mask) -> Value:
        if e.function.startswith("vload"):
            offset, pointer = e.arguments
            width = e.function.removeprefix("vload").removeprefix("_half")
            self.vector(int(width or 1), offset, pointer, on, False)
            return None
        found = [self.value(argument, on) for argument in e.arguments]
        function = self.scope.get(e.function)
        if isinstance(function, Function):
            outer, self.scope = (
                self.scope,
                {name: value for (name, _), value in zip(function.parameters, found, strict=True)},
            )
            self.value(function.value, on)
            self.scope = outer
        whole = [x for x in found if x is not None]
        if e.function in ("min", "max") and len(whole) == 2:
            best = np.minimum if e.function == "min" else np.maximum
            return Int(best(whole[0].at, whole[1].at), whole[0].wide or whole[1].wide)
        return None

    # ---- memory

    def access(self, e: Element | Pointed, on: Mask, writes: bool) -> None:
        element = e.element if isinstance(e, Pointed) else e
        array = self.scope[element.array]
        index = self.value(element.index, on)
        assert isinstance(array, Array)
        assert index is not None
        if isinstance(e, Element):
            self.touch(array, index.at * array.unit, array.unit, on, writes)
            return
        unit = 4 if e.kind.width == 3 else e.kind.width
        size = BYTES[array.scalar] if e.in_bytes else 1
        if (index.at[on] % (unit * size)).any() or array.aligned % (unit * BYTES[array.scalar]):
            self.faults.add("alignment")
        self.touch(array, index.at // size, unit, on, writes)

    def vector(self, width: int, offset: CExpr, pointer: CExpr, on: Mask, writes: bool) -> None:
        at = self.value(offset, on)
        assert at is not None
        array, index = self.pointer(pointer, on)
        self.touch(array, index + at.at * width, width, on, writes)

    def pointer(self, e: CExpr, on: Mask) -> tuple[Array, Numbers]:
        match e:
            case Name(name):
                array = self.scope[name]
                assert isinstance(array, Array)
                return array, np.zeros(self.count, np.int64)
            case Pointer(to):
                array, found = self.scope[to.element.array], self.value(to.element.index, on)
                assert isinstance(array, Array)
                assert found is not None
                if (found.at[on] % BYTES[array.scalar]).any():
                    self.faults.add("alignment")
                return array, found.at // BYTES[array.scalar]
            case Infix(op, left, right):
                array, index = self.pointer(left, on)
                more = self.value(right, on)
                assert more is not None
                return array, OPERATORS[op](index, more.at)
        raise AssertionError(e)

    def touch(self, array: Array, index: Numbers, width: int, on: Mask, writes: bool) -> None:
        first = index[on]
        if (first < 0).any() or (first + width > array.elements).any():
            self.faults.add("bounds")
        if array.space not in (Space.GLOBAL, Space.LOCAL) or not on.any():
            return
        items = np.flatnonzero(on)
        found = self.touched.setdefault(array.name, Touched())
        found.cells.append((first[:, None] + np.arange(width)).reshape(-1))
        found.items.append(np.repeat(items, width))
        found.clocks.append(np.repeat(self.clock[array.space][on], width))
        found.writes.append(np.full(len(first) * width, writes))

    def races(self, array: Array, touched: Touched) -> bool:
        cells, items, clocks, writes = touched.columns()
        groups = self.groups[items]
        if array.space is Space.GLOBAL and _meet((cells,), groups, writes):
            return True
        return _meet((cells, groups, clocks), items, writes)


_KINDS = {"get_global_id": "global", "get_local_id": "local", "get_group_id": "group"}


def _ids(launch: Kernel) -> Iterator[tuple[tuple[str, int], Numbers]]:
    grid = np.meshgrid(*(np.arange(n) for n in launch.global_size), indexing="ij")
    for d, at in enumerate(grid):
        numbers = at.reshape(-1).astype(np.int64)
        yield ("get_global_id", d), numbers
        yield ("get_local_id", d), numbers % launch.local_size[d]
        yield ("get_group_id", d), numbers // launch.local_size[d]


def _meet(place: tuple[Numbers, ...], who: Numbers, writes: Mask) -> bool:
    """True if some cell `place` is touched by several work-items (`who`), at least once by a write
    (`writes`)."""
    key = np.zeros_like(who)
    for column in place:
        low, high = int(column.min()), int(column.max())
        key = key * (high - low + 1) + (column - low)
    _, place_number = np.unique(key, return_inverse=True)
    written = np.zeros(place_number.max() + 1, bool)
    written[place_number[writes]] = True
    pairs = np.unique(np.stack((place_number, who)), axis=1)
    return bool((np.bincount(pairs[0])[written] > 1).any())


# ---- plans


def simulated(launch: Kernel, plan: Plan) -> Simulation:
    """The simulation of one launch of a plan."""
    text = read_kernel(launch.source)
    buffers = {b.name: b for b in plan.buffers}
    given = [buffers[name] for name in launch.arguments]
    sizes = [b.bytes // BYTES[b.scalar] for b in given]
    names = [p.name for p in text.parameters]
    return Simulation(text, launch, dict(zip(names, sizes, strict=True)))


def faults(plan: Plan) -> set[str]:
    """The faults of all launches of a plan, simulated in order; "stale" is added if a kernel reads
    a buffer that was not written yet, or was overwritten since."""
    found: set[str] = set()
    fresh = {b.name for b in plan.buffers if b.role in GIVEN}
    for prepack in (True, False):
        for launch in plan.kernels:
            if launch.prepack is prepack:
                found |= _launched(launch, plan, fresh)
    return found


def _launched(launch: Kernel, plan: Plan, fresh: set[str]) -> set[str]:
    """The faults of one launch of a plan. `fresh` are the names of the buffers with valid contents:
    it gains those that the launch writes, and loses those that share bytes with these."""
    simulation = simulated(launch, plan)
    parameters = read_kernel(launch.source).parameters
    buffers = {b.name: b for b in plan.buffers}
    found, read, written = set(simulation.faults), set[str](), set[str]()
    for p, name in zip(parameters, launch.arguments, strict=True):
        touched = simulation.touched.get(p.name, Touched())
        writes = touched.columns()[3] if touched.cells else np.zeros(0, bool)
        if writes.any():
            written.add(name)
        elif len(writes) and name not in fresh:
            found.add("stale")
        if not writes.all():
            read.add(name)
    for name in written:
        role = buffers[name].role
        if role in GIVEN or (role is Role.PACKED and not launch.prepack):
            found.add("stale")
        over = {b.name for b in plan.buffers if b.name != name and _overlap(b, buffers[name])}
        if over & (read | written) or launch.arguments.count(name) > 1:
            found.add("race")
        fresh -= over
        fresh.add(name)
    return found


GIVEN = (Role.INPUT, Role.CONST)


def _overlap(a: Buffer, b: Buffer) -> bool:
    """True if two temporaries share bytes of the arena in which they lie."""
    if a.offset is None or b.offset is None:
        return False
    return a.offset < b.offset + b.bytes and b.offset < a.offset + a.bytes
