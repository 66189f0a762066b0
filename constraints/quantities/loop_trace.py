"""A walk through a kernel's term that records in which loops values are computed, loaded and
staged."""

# key: e term, p pattern

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from constraints.quantities.located_values import (
    CARRIED,
    OWN,
    Cells,
    Delayed,
    Loop,
    Loops,
    Scope,
    Value,
    component,
    each,
    laid_out,
    parts_of_tuples,
)
from constraints.quantities.value_bytes import share
from ir.core.frozen import frozen
from ir.core.instruction import Instruct, Instruction
from ir.core.nodes import (
    At,
    Binary,
    Concat,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    Level,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Reduce,
    ReduceSeq,
    Reorder,
    Select,
    ToLocal,
    ToPrivate,
    Unary,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import children
from ir.core.type_rules import COMPARISONS, elem_of, size_of, type_of
from ir.core.types import HALF, INT, Array, Scalar, Type, Vector
from ir.core.views import is_view
from ir.meaning.inputs import parts_of, scalar_of


@frozen
class Computed:
    """An operation on floats: the type of its result, the loops around it, and whether a loop
    carries the result from turn to turn, or what it is made of: the sum of which it is a term
    counts as its result, as compilers make both by one instruction."""

    type: Type
    loops: Loops
    carried: bool


@dataclass(slots=True)
class Trace:
    """The record of a walk through a term, each entry with the loops around it: the operations on
    floats (`computed`), the instructions of sub-groups (`together`), the fillings of local memory
    (`staged`), what is `loaded` from memory, the delayed maps that were computed already, with
    whether a loop carries what they made (`computed_in`), and, by where they stand, the loops over
    lanes and over the numbers of a lane that make operands of instructions from such maps
    (`gathered`). `carried` has the bytes of each sum of halves that loops carry, in one
    work-item."""

    computed: list[Computed] = field(default_factory=list)  # operations on floats
    together: list[tuple[Instruction, Loops]] = field(default_factory=list)  # by a sub-group
    staged: list[Loops] = field(default_factory=list)  # local memory is filled
    loaded: dict[tuple[Cells, Type, Loops], None] = field(default_factory=dict)
    computed_in: dict[tuple[Delayed, Loops], bool] = field(default_factory=dict)
    carried: list[Size] = field(default_factory=list)
    gathered: dict[tuple[Size, Size, Loops], Loops] = field(default_factory=dict)

    def value(self, e: Expr, here: Scope) -> Value:
        """The location of e's value, where `here` are its surroundings; the work of computing it is
        recorded."""
        match e:
            case Var(name):
                return here.env.get(name) or laid_out("global", name, frozenset(), type_of(e))
            case Binary() | Unary() | Select():
                return self.operation(e, here)
            case Get(i, xs):
                return component(self.value(xs, here), i)
            case At(k, xs):
                return each(self.value(xs, here), lambda inner: inner.place(k))
            case MakeTuple(parts) | Zip(parts):
                return tuple(self.value(part, here) for part in parts)
            case MakeArray(parts):
                return _any(self.made(part, here) for part in parts)
            case Concat(xs, ys):
                self.value(ys, here)
                return self.value(xs, here)
            case Reorder(_, xs):
                return each(self.value(xs, here), lambda cells: cells.viewed(e))
            case Let(p, value, body):
                return self.value(body, here.bound(p, self.let(value, here)))
            case ToLocal(a):
                self.staged.append(here.loops)
                self.made(a, here)
                return laid_out("local", e, frozenset(here.loops), type_of(e))
            case ToPrivate(a):
                return self.made(a, here)
            case Instruct(instruction, parts) if instruction.lanes > 1:
                for part in parts:
                    self.in_lanes(part, here)
                self.together.append((instruction, here.loops))
                return OWN
            case Instruct(instruction, parts):
                given = tuple(self.made(part, here) for part in parts)
                meaning = instruction.meaning
                return self.made(meaning.body, here.bound(meaning.pattern, given))
            case Map(f, xs):
                return self.delayed(f, self.value(xs, here), size_of(xs), here)
            case Generate(n, f):
                return self.delayed(f, OWN, n, here)
            case MapSeq(f, xs, unrolled):
                return self.loop(f, xs, Loop(size_of(xs), unrolled), here)
            case MapPar(level, dim, f, xs):
                return self.loop(f, xs, Loop(size_of(xs), False, level, dim), here)
            case ReduceSeq(init, f, xs, unrolled):
                return self.fold(init, f, xs, Loop(size_of(xs), unrolled), here)
            case Reduce(init, f, xs):
                return self.fold(init, f, xs, Loop(size_of(xs)), here)
        inner = [self.value(c, here) for c in children(e)]
        return each(inner[-1], lambda cells: cells.viewed(e)) if inner else OWN

    def operation(self, e: Expr, here: Scope) -> Value:
        given, terms = list[Cells](), list[int]()  # terms: where products stand in `computed`
        for operand in children(e):
            given.append(self.made(operand, here))
            if _is_sum(e) and _is_product(operand):
                terms.append(len(self.computed) - 1)
        made = _any(given)
        for n in terms if made.carried else ():
            self.computed[n] = replace(self.computed[n], carried=True)
        compares = isinstance(e, Binary) and e.op in COMPARISONS
        counted = type_of(children(e)[0] if compares else e)
        if counted != INT:
            self.computed.append(Computed(counted, here.loops, made.carried))
        return made

    def in_lanes(self, e: Expr, here: Scope) -> None:
        """Record that each lane of a sub-group reads its element of the array e. A vector of what
        is computed on the way is made number by number: once for all turns of unrolled loops that
        change nothing, and from what is loaded once for all operands of these numbers."""
        lane, element = Loop(size_of(e), level=Level.LOCAL), elem_of(e)
        found = self.value(e, here)
        if isinstance(found, Delayed) and isinstance(element, Vector):
            around = tuple([o for o in here.loops if not o.unrolled or o in _chosen(found)])
            fresh = (lane, Loop(element.width))
            loops = self.gathered.setdefault((size_of(e), element.width, around), fresh)
            self.read(found.at(loops[0]).at(loops[1]), element.scalar, (*around, *loops))
            return
        self.read(each(found, lambda inner: inner.at(lane)), element, (*here.loops, lane))

    def loop(self, f: Lam, xs: Expr, loop: Loop, here: Scope) -> Value:
        given = each(self.value(xs, here), lambda inner: inner.at(loop))
        return self.made(f.body, here.bound(f.pattern, given).inside(loop))

    def fold(self, init: Expr, f: Lam, xs: Expr, loop: Loop, here: Scope) -> Value:
        start = self.made(init, here)
        carried = CARRIED if not loop.unrolled and loop.trips != 1 else start
        if carried != start and HALF in {scalar_of(part) for _, part in parts_of(type_of(init))}:
            self.carried.append(share(f.body))
        given = each(self.value(xs, here), lambda inner: inner.at(loop))
        return self.made(f.body, here.bound(f.pattern, (carried, given)).inside(loop))

    def delayed(self, f: Lam, xs: Value, trips: Size, here: Scope) -> Value:
        """The location of the value of the map of f over xs: if f only changes layout, that of xs;
        else a map that is delayed until it is read."""
        if is_view(f.body):
            entered = each(xs, lambda cells: cells.entering(f))
            made = self.value(f.body, here.bound(f.pattern, entered))
            return each(made, lambda cells: cells.leaving(f, trips))
        return Delayed(f, xs, trips, here.env)

    def let(self, value: Expr, here: Scope) -> Value:
        """The location of a let's value; a map in it is computed now, not delayed."""
        found = self.value(value, here)
        return self.made(value, here) if isinstance(found, Delayed) else found

    def made(self, e: Expr, here: Scope) -> Cells:
        """The location of e's value in private memory, after it is computed where e stands."""
        return CARRIED if self.read(self.value(e, here), type_of(e), here.loops) else OWN

    def read(self, value: Value, type_: Type, loops: Loops) -> bool:
        """Record that a value of type `type_` is read in these loops; from memory it is loaded once
        in each turn. True if a loop carries the value, or a part of it, from turn to turn."""
        match value:
            case tuple(parts):
                inner = zip(parts, parts_of_tuples(type_), strict=True)
                return True in [self.read(part, t, loops) for part, t in inner]
            case Delayed():
                if (value, loops) not in self.computed_in:
                    self.computed_in[value, loops] = False  # while it is computed
                    self.computed_in[value, loops] = self.compute(value, type_, loops)
                return self.computed_in[value, loops]
            case Cells(space) if space != "own" and isinstance(type_, Scalar | Vector):
                self.loaded[value, type_, loops] = None
        return isinstance(value, Cells) and value.carried

    def compute(self, value: Delayed, type_: Type, loops: Loops) -> bool:
        """Record the work of a delayed map from which a value of type `type_` is read: the work of
        all its elements if that is an array, else of one. True if a loop carries what it makes."""
        xs = value.xs
        if isinstance(type_, Array):
            loop = Loop(value.trips)
            xs, type_, loops = each(xs, lambda inner: inner.at(loop)), type_.elem, (*loops, loop)
        found = self.value(value.f.body, Scope(value.env, loops).bound(value.f.pattern, xs))
        for k in value.path:
            found = component(found, k)
        return self.read(found, type_, loops)


def _is_sum(e: Expr) -> bool:
    return isinstance(e, Binary) and e.op in ("+", "-")


def _is_product(e: Expr) -> bool:
    """True if e is a product that counts as an operation."""
    return isinstance(e, Binary) and e.op == "*" and type_of(e) != INT


def _any(values: Iterable[Cells]) -> Cells:
    """The location of what is made of these values, each in private memory: it is carried by a loop
    if one of them is."""
    carried = [value.carried for value in values]
    return CARRIED if any(carried) else OWN


def _chosen(value: Value) -> frozenset[Loop]:
    """The loops whose turns choose which scalars a value is made of."""
    match value:
        case tuple(parts):
            return frozenset[Loop]().union(*map(_chosen, parts))
        case Delayed(_, xs):
            return _chosen(xs)
        case Cells():
            return frozenset(value.chosen)
    return frozenset()
