"""Expressions of a text as indices and conditions, with what they access and demand on the way.

`int` and `long` arithmetic is index arithmetic as long as nothing overflows and no negative number
is divided: both are demanded at every step, in the type that C computes it in.
"""

# key: e expression, d divisor

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from codegen.index.condition import ALWAYS, NEVER, Condition, at_least, both, less
from codegen.index.index import Index, assume, constant, maximum, minimum
from codegen.proof.accesses import Access, Demand, Where, without
from codegen.proof.verdicts import Kind as About
from codegen.text_proof.c_syntax import (
    Call,
    Cast,
    CExpr,
    Choice,
    Element,
    Function,
    Infix,
    Lanes,
    Name,
    Negative,
    Pointed,
    Real,
    Whole,
)
from codegen.text_proof.c_tokens import NotRead
from codegen.text_proof.c_values import Data, Either, Int, Meaning, Register, Storage, Truth, Value
from codegen.text_proof.c_words import SIZES, is_guarded_divisor, loaded_width, result_of
from codegen.tree.statements import Kind
from ir.core.nodes import Instruction
from ir.core.terms import variables
from ir.core.types import Array, Type, Vector

LIMITS = {False: (-(2**31), 2**31 - 1), True: (-(2**63), 2**63 - 1)}
COMPARISONS: Mapping[str, Callable[[Index, Index], Condition]] = {
    "<": less,
    "<=": lambda x, y: at_least(y, x),
    ">": lambda x, y: less(y, x),
    ">=": at_least,
}
INT = Kind("int")
FALSE = Data(INT)


@dataclass(slots=True)
class Expressions:
    """Reads the expressions of one kernel. `scope` is what names mean at this place, `text` says
    which place it is; accesses are those of one statement, demands and claims those of all."""

    scope: dict[str, Meaning] = field(default_factory=dict)
    text: str = ""
    accesses: list[Access] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)
    within: dict[tuple[Where, Condition, bool], Where] = field(default_factory=dict)

    def refused(self, message: str) -> NotRead:
        return NotRead(f"{self.text}: {message}")

    def demand(self, about: About, what: str, goals: list[Index], where: Where) -> None:
        """All goals ≥ 0 there."""
        self.demands.append(Demand(about, f"{what} in {self.text}", tuple(goals), where))

    # ---- values

    def value(self, e: CExpr, where: Where) -> Value:
        match e:
            case Name(name):
                return self.named(name)
            case Whole(number, wide):
                return Int(constant(number), wide)
            case Infix():
                return self.infix(e, where)
            case Element():
                return self.element(e, where)
            case Pointed():
                return self.pointed(e, where)
            case Lanes(inner, lanes):
                return self.lanes(self.data(self.value(inner, where)), lanes)
            case Call():
                return self.call(e, where)
            case Cast():
                return self.cast(e, where)
            case Real(scalar):
                return Data(Kind(scalar))
            case Negative(inner):
                return self.negative(self.value(inner, where), where)
            case Choice():
                return self.choice(e, where)

    def named(self, name: str) -> Value:
        match self.scope.get(name):
            case Int() | Data() as value:
                return value
            case Register(kind):
                return Data(kind)
            case None:
                raise self.refused(f"{name} is not declared here")
        raise self.refused(f"{name} is no value")

    def data(self, value: Value) -> Data:
        """A value whose number does not matter."""
        match value:
            case Data():
                return value
            case Int(index, wide):
                low, high = index.lo, index.hi
                apart = (low is not None and low > 0) or (high is not None and high < -1)
                return Data(Kind("long" if wide else "int"), apart)
        return FALSE

    def int_value(self, e: CExpr, where: Where) -> Int:
        """An expression that must be known as an index."""
        value = self.value(e, where)
        if not isinstance(value, Int):
            raise self.refused("expected arithmetic of ids, loops and numbers")
        return value

    def lanes(self, vector: Data, lanes: tuple[int, ...]) -> Data:
        kind = vector.kind
        if max(lanes) >= kind.width or kind.width == 1:
            raise self.refused(f"lane {max(lanes)} of {kind.width}")
        return Data(Kind(kind.scalar, len(lanes)))

    def cast(self, e: Cast, where: Where) -> Value:
        parts = [self.value(part, where) for part in e.parts]
        whole = e.kind.scalar in ("int", "long")
        match parts:
            case [Int() as one] if whole and e.kind.width == 1:
                return self.converted(one, e.kind.scalar == "long", where)
        return Data(e.kind, whole and all(self.data(part).divides for part in parts))

    def converted(self, value: Int, wide: bool, where: Where) -> Int:
        """An int as a long, or a long as an int."""
        return Int(self.fitting(value.index, wide, where), wide)

    def negative(self, value: Value, where: Where) -> Value:
        if isinstance(value, Int):
            return Int(self.fitting(-value.index, value.wide, where), value.wide)
        return Data(self.data(value).kind)

    def fitting(self, index: Index, wide: bool, where: Where) -> Index:
        """An index that must be in the range of the type it is computed in."""
        low, high = LIMITS[wide]
        if index.lo is None or index.hi is None or index.lo < low or index.hi > high:
            kind = "a long" if wide else "an int"
            self.demand(
                About.OVERFLOW, f"{kind} for {index.key}", [index - low, -index + high], where
            )
        return index

    # ---- operators

    def infix(self, e: Infix, where: Where) -> Value:
        if e.op == "&&":
            return Truth(self.conjunction(e, where))
        a, b = self.value(e.left, where), self.value(e.right, where)
        if isinstance(a, Int) and isinstance(b, Int):
            return self.of_ints(e.op, a, b, where)
        return self.of_data(e.op, self.data(a), self.data(b), where)

    def of_ints(self, op: str, a: Int, b: Int, where: Where) -> Value:
        x, y, wide = a.index, b.index, a.wide or b.wide
        match op:
            case "+":
                return Int(self.fitting(x + y, wide, where), wide)
            case "-":
                return Int(self.fitting(x - y, wide, where), wide)
            case "*":
                return Int(self.fitting(x * y, wide, where), wide)
            case "/" | "%":
                return Int(self.divided(op, x, y, where), wide)
            case _ if op in COMPARISONS:
                return Truth(COMPARISONS[op](x, y))
        return self.of_data(op, self.data(a), self.data(b), where)

    def divided(self, op: str, x: Index, y: Index, where: Where) -> Index:
        """C rounds to zero, an index down: they agree where the dividend is not negative."""
        if not y.is_constant:
            raise self.refused("expected a number as the divisor of an index")
        d = y.constant
        if d < 1:
            self.demand(About.DIVISION, f"a divisor {d}", [constant(d - 1)], where)
            return x
        if x.lo is None or x.lo < 0:
            self.demand(About.DIVISION, f"{x.key} ≥ 0", [x], where)
            x = assume(x, 0)
        return x // d if op == "/" else x % d

    def of_data(self, op: str, a: Data, b: Data, where: Where) -> Data:
        kind = joined(a.kind, b.kind)
        if op in ("/", "%") and is_whole(kind) and not b.divides:
            self.demand(About.DIVISION, "a divisor that is data", [constant(-1)], where)
        scalar = "int" if op in COMPARISONS or op in ("==", "!=") else kind.scalar
        return Data(Kind(scalar, kind.width))

    # ---- conditions

    def test(self, e: CExpr, where: Where) -> Condition | None:
        """When it holds; None: that is decided by data."""
        match self.value(e, where):
            case Truth(condition):
                return condition
            case Int(index) if index.is_constant:
                return ALWAYS if index.constant else NEVER
            case Data():
                return None
        raise self.refused("expected comparisons joined by &&")

    def conjunction(self, e: Infix, where: Where) -> Condition | None:
        """Its right side is only computed where its left side holds."""
        left = self.test(e.left, where)
        right = self.test(e.right, where if left is None else self.holding(where, left))
        return None if left is None or right is None else both(left, right)

    def holding(self, where: Where, c: Condition) -> Where:
        """Inside a branch; each place has one `Where`, so that its accesses are seen as alike."""
        if not c.parts:
            return where
        key = (where, c, True)
        if key not in self.within:
            self.within[key] = replace(where, given=(*where.given, *c.parts))
        return self.within[key]

    def denying(self, where: Where, c: Condition) -> Where:
        """Beside a branch."""
        key = (where, c, False)
        if key not in self.within:
            self.within[key] = without(where, c)
        return self.within[key]

    def choice(self, e: Choice, where: Where) -> Value:
        """Only one side is computed."""
        c = self.test(e.test, where)
        if c in (ALWAYS, NEVER):
            return self.value(e.a if c == ALWAYS else e.b, where)
        yes, no = (where, where) if c is None else (self.holding(where, c), self.denying(where, c))
        a, b = self.value(e.a, yes), self.value(e.b, no)
        if isinstance(a, Int) and isinstance(b, Int):
            return Either(((yes, a), (no, b)))
        return Data(joined(self.data(a).kind, self.data(b).kind))

    # ---- functions

    def call(self, e: Call, where: Where) -> Value:
        width = loaded_width(e.function)
        if width is not None:
            return self.vector_load(e, width, where)
        values = [self.value(argument, where) for argument in e.arguments]
        function = self.scope.get(e.function)
        if isinstance(function, Function):
            return self.applied(function, values, where)
        if isinstance(function, Instruction):
            raise self.refused(f"{e.function}, to which all lanes come, is a statement of its own")
        match e.function, values:
            case "min", [Int(x, v), Int(y, w)]:
                return Int(minimum(x, y), v or w)
            case "max", [Int(x, v), Int(y, w)]:
                return Int(maximum(x, y), v or w)
        kind = result_of(e.function, self.data(values[0]).kind)
        if kind is None:
            raise self.refused(f"{e.function} is no function that kernels call")
        return Data(kind, is_guarded_divisor(e))

    def carried_out(self, e: CExpr, where: Where) -> None:
        """An instruction with its operands, each of the kind that a lane holds."""
        assert isinstance(e, Call)
        instruction = self.scope[e.function]
        assert isinstance(instruction, Instruction)
        expected = [kind_of(v.type) for v in variables(instruction.meaning.pattern)]
        found = [self.data(self.value(argument, where)).kind for argument in e.arguments]
        if found != expected:
            raise self.refused(f"{e.function} takes {expected}, found {found}")

    def applied(self, function: Function, values: list[Value], where: Where) -> Data:
        """A function of the text, which may call those before it; what it computes is data."""
        if len(values) != len(function.parameters):
            raise self.refused(f"{function.name} takes {len(function.parameters)} arguments")
        outer = self.scope
        functions = [f for f in outer.values() if isinstance(f, Function)]
        self.scope = {f.name: f for f in functions[: functions.index(function)]}
        for (name, kind), value in zip(function.parameters, values, strict=True):
            self.scope[name] = Data(kind, self.data(value).divides and is_whole(kind))
        self.value(function.value, where)
        self.scope = outer
        return Data(function.kind)

    # ---- memory

    def storage(self, name: str) -> Storage:
        found = self.scope.get(name)
        if not isinstance(found, Storage):
            raise self.refused(f"{name} is no array")
        return found

    def element(self, e: Element, where: Where, writes: bool = False) -> Data:
        """array[index]"""
        storage = self.storage(e.array)
        value = self.value(e.index, where)
        w = storage.kind.width
        match value:
            case Int(index):
                self.access(storage, index * w, w, where, writes)
            case Either(cases):
                for place, one in cases:
                    self.access(storage, one.index * w, w, place, writes)
            case _:
                raise self.refused("expected an index of ids, loops and numbers")
        return Data(storage.kind)

    def pointed(self, e: Pointed, where: Where, writes: bool = False) -> Data:
        """*(space kind *)&array[index], which must be at a multiple of its own size"""
        storage, index = self.storage(e.element.array), self.int_value(e.element.index, where).index
        kind, memory = e.kind, storage.memory
        if (e.space, kind.scalar, 1) != (memory.space, memory.scalar, storage.kind.width):
            raise self.refused(f"a pointer to other things than {memory.name} holds")
        unit = 4 if kind.width == 3 else kind.width
        beyond = index % unit
        if not (beyond.is_constant and beyond.constant == 0):
            self.demand(About.ALIGNMENT, f"{index.key} % {unit} = 0", [-beyond], where)
        if storage.aligned % (unit * SIZES[kind.scalar]):
            found = f"{memory.name} at a multiple of {unit * SIZES[kind.scalar]} bytes"
            self.demand(About.ALIGNMENT, found, [constant(-1)], where)
        self.access(storage, index, unit, where, writes)
        return Data(kind)

    def vector_load(self, e: Call, width: int, where: Where) -> Data:
        """vloadN(offset, pointer)"""
        if len(e.arguments) != 2:
            raise self.refused(f"{e.function} takes an offset and a pointer")
        offset, pointer = e.arguments
        storage = self.at_pointer(offset, pointer, width, where, writes=False)
        return Data(Kind(storage.memory.scalar, width))

    def at_pointer(
        self, offset: CExpr, pointer: CExpr, width: int, where: Where, writes: bool
    ) -> Storage:
        """The N scalars at pointer + N·offset, at whatever place"""
        storage, index = self.place(pointer, where)
        if storage.kind.width != 1:
            raise self.refused(f"{storage.memory.name} holds vectors")
        index = index + self.int_value(offset, where).index * width
        self.access(storage, index, width, where, writes)
        return storage

    def place(self, pointer: CExpr, where: Where) -> tuple[Storage, Index]:
        """array + index + …: added to a pointer, which does not overflow as an int does"""
        match pointer:
            case Name(name):
                return self.storage(name), constant(0)
            case Infix("+", left, right):
                storage, index = self.place(left, where)
                return storage, index + self.int_value(right, where).index
            case Infix("-", left, right):
                storage, index = self.place(left, where)
                return storage, index - self.int_value(right, where).index
        raise self.refused("expected array + index")

    def access(self, s: Storage, index: Index, width: int, where: Where, writes: bool) -> None:
        if writes and s.const:
            raise self.refused(f"{s.memory.name} is const, and written")
        self.accesses.append(Access(s.memory, index, width, None, writes, where, self.text))


def joined(a: Kind, b: Kind) -> Kind:
    """The kind that an operator computes in."""
    if a == b:
        return a
    scalar = max(a.scalar, b.scalar, key=rank)
    return Kind(scalar, max(a.width, b.width))


def rank(scalar: str) -> tuple[bool, int]:
    return not is_whole(Kind(scalar)), SIZES[scalar]


def is_whole(kind: Kind) -> bool:
    """Whether it holds integers."""
    return kind.scalar not in ("float", "half")


def kind_of(t: Type) -> Kind:
    """What a lane holds of an operand of an instruction."""
    assert isinstance(t, Array)
    assert isinstance(t.elem, Vector)
    assert isinstance(t.elem.width, int)
    return Kind(t.elem.scalar.name, t.elem.width)
