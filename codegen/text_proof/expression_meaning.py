"""The meaning of a text's expressions as indices and conditions, with what they access and demand
on the way."""

# key: e expression

from dataclasses import dataclass, field, replace

from codegen.index.condition import ALWAYS, NEVER, Condition, both
from codegen.index.index import constant, maximum, minimum
from codegen.proof.accesses import Where, without
from codegen.text_proof.array_accesses import Arrays
from codegen.text_proof.c_values import Data, Either, Int, Meaning, Register, Truth, Value
from codegen.text_proof.int_arithmetic import Arithmetic, data_of, divides_as, fits, joined
from codegen.text_proof.reading import Reading
from codegen.text_reader.c_syntax import (
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
    Pointer,
    Real,
    Whole,
)
from codegen.text_reader.c_words import is_guarded_divisor, loaded_width, result_of
from codegen.tree.kernel_values import Kind
from ir.core.instruction import Instruction
from ir.core.terms import variables
from ir.core.type_rules import type_of
from ir.core.types import NARROW_REALS, Array, Scalar, Type, Vector


@dataclass(slots=True)
class Expressions:
    """The reader of the expressions of one kernel. `scope` has the meaning of each name at this
    place; `within` keeps the places that `holding` and `denying` give."""

    reading: Reading
    scope: dict[str, Meaning]
    arithmetic: Arithmetic = field(init=False)
    arrays: Arrays = field(init=False)
    within: dict[tuple[Where, Condition, bool], Where] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arithmetic = Arithmetic(self.reading)
        self.arrays = Arrays(self.reading, self)

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
                return self.arrays.element(e, where)
            case Pointed():
                return self.arrays.pointed(e, where)
            case Pointer():
                raise self.reading.refused("expected a value, found a pointer")
            case Lanes(inner, lanes):
                return self.lanes(data_of(self.value(inner, where)), lanes)
            case Call():
                return self.call(e, where)
            case Cast():
                return self.cast(e, where)
            case Real(scalar):
                return Data(Kind(scalar))
            case Negative(inner):
                return self.arithmetic.negative(self.value(inner, where), where)
            case Choice():
                return self.choice(e, where)

    def named(self, name: str) -> Value:
        match self.scope.get(name):
            case Int() | Data() as value:
                return value
            case Register(kind):
                return Data(kind)
            case None:
                raise self.reading.refused(f"expected a name that is declared before, found {name}")
        raise self.reading.refused(f"expected the name of a value, found {name}")

    def int_value(self, e: CExpr, where: Where) -> Int:
        """The value of an expression as an index; NotRead if it is data, of which no index is
        known."""
        value = self.value(e, where)
        if not isinstance(value, Int):
            raise self.reading.refused("expected arithmetic of ids, loops and numbers, found data")
        return value

    def cast(self, e: Cast, where: Where) -> Value:
        parts = [self.value(part, where) for part in e.parts]
        whole = e.kind.scalar in ("int", "long")
        match parts:
            case [Int() as one] if whole and e.kind.width == 1:
                wide = e.kind.scalar == "long"
                if fits(one.index, wide):
                    return Int(one.index, wide)
                return Data(e.kind)  # a long that wraps around as an int is no index
        widths = [data_of(part).kind.width for part in parts]
        if len(parts) > 1 and sum(widths) != e.kind.width:
            found = " + ".join(map(str, widths))
            raise self.reading.refused(f"expected parts of {e.kind.width} numbers, found {found}")
        return Data(e.kind, whole and all(divides_as(e.kind, data_of(part)) for part in parts))

    # ---- operators

    def infix(self, e: Infix, where: Where) -> Value:
        if e.op == "&&":
            return Truth(self.conjunction(e, where))
        a, b = self.value(e.left, where), self.value(e.right, where)
        if isinstance(a, Int) and isinstance(b, Int):
            return self.arithmetic.of_ints(e.op, a, b, where)
        return self.arithmetic.of_data(e.op, data_of(a), data_of(b), where)

    def lanes(self, vector: Data, lanes: tuple[int, ...]) -> Data:
        kind = vector.kind
        if max(lanes) >= kind.width or kind.width == 1:
            raise self.reading.refused(
                f"expected lanes of a vector of {kind.width}, found lane {max(lanes)}"
            )
        return Data(Kind(kind.scalar, len(lanes)))

    # ---- conditions

    def test(self, e: CExpr, where: Where) -> Condition | None:
        """The condition under which e holds; None if data decide that."""
        match self.value(e, where):
            case Truth(condition):
                return condition
            case Int(index) if index.is_constant:
                return ALWAYS if index.constant else NEVER
            case Data():
                return None
        raise self.reading.refused("expected comparisons joined by &&, found an int")

    def conjunction(self, e: Infix, where: Where) -> Condition | None:
        """The condition a && b && …; None if data decide it. Each is only computed where those
        before it hold."""
        first, *rest = _joined_by_and(e)
        found = self.test(first, where)
        for term in rest:
            other = self.test(term, where if found is None else self.holding(where, found))
            found = None if found is None or other is None else both(found, other)
        return found

    def holding(self, where: Where, c: Condition) -> Where:
        """The place `where` with the fact that c holds; one object for each place, so that accesses
        are seen as alike."""
        if not c.parts:
            return where
        key = (where, c, True)
        if key not in self.within:
            self.within[key] = replace(where, given=(*where.given, *c.parts))
        return self.within[key]

    def denying(self, where: Where, c: Condition) -> Where:
        """The place `where` with the fact that c does not hold; one object for each place, as in
        `holding`."""
        key = (where, c, False)
        if key not in self.within:
            self.within[key] = without(where, c)
        return self.within[key]

    def choice(self, e: Choice, where: Where) -> Value:
        """The value of a choice, whose sides are computed each under its condition."""
        c = self.test(e.test, where)
        if c in (ALWAYS, NEVER):
            return self.value(e.a if c == ALWAYS else e.b, where)
        yes, no = (where, where) if c is None else (self.holding(where, c), self.denying(where, c))
        a, b = self.value(e.a, yes), self.value(e.b, no)
        if isinstance(a, Int) and isinstance(b, Int):
            return Either(((yes, a), (no, b)))
        return Data(joined(data_of(a).kind, data_of(b).kind))

    # ---- functions

    def call(self, e: Call, where: Where) -> Value:
        width = loaded_width(e.function)
        if width is not None:
            return self.arrays.vector_load(e, width, where)
        values = [self.value(argument, where) for argument in e.arguments]
        function = self.scope.get(e.function)
        if isinstance(function, Function):
            return self.applied(function, values, where)
        if isinstance(function, Instruction) and function.lanes == 1:
            self.carried_out(e, where)
            return Data(kind_of(type_of(function.meaning.body)))
        if isinstance(function, Instruction):
            words = "expected as a statement of its own, found inside an expression"
            raise self.reading.refused(f"{e.function}, {words}")
        match e.function, values:
            case "min", [Int(x, v), Int(y, w)]:
                return Int(minimum(x, y), v or w)
            case "max", [Int(x, v), Int(y, w)]:
                return Int(maximum(x, y), v or w)
        kind = result_of(e.function, data_of(values[0]).kind)
        if kind is None:
            raise self.reading.refused(f"expected a function that kernels call, found {e.function}")
        return Data(kind, is_guarded_divisor(e))

    def carried_out(self, e: CExpr, where: Where) -> None:
        """Check a call of an instruction: each operand must be of the kind that a lane holds."""
        assert isinstance(e, Call)
        instruction = self.scope[e.function]
        assert isinstance(instruction, Instruction)
        expected = list[Kind]()
        told = {placed.operand: len(placed.digits) for placed in instruction.placed}
        for n, v in enumerate(variables(instruction.meaning.pattern)):
            expected += [kind_of(v.type), *[Kind("int")] * told.get(n, 0)]
        found = [data_of(self.value(argument, where)).kind for argument in e.arguments]
        if found != expected:
            raise self.reading.refused(
                f"{e.function}: expected arguments {expected}, found {found}"
            )

    def applied(self, function: Function, values: list[Value], where: Where) -> Data:
        """The value of a call, with these values as arguments, of a function in the text; the
        function may call those before it. The value is data."""
        if len(values) != len(function.parameters):
            expected = f"{len(function.parameters)} arguments"
            raise self.reading.refused(f"{function.name}: expected {expected}, found {len(values)}")
        outer = self.scope
        functions = [f for f in outer.values() if isinstance(f, Function)]
        self.scope = {f.name: f for f in functions[: functions.index(function)]}
        for (name, kind), value in zip(function.parameters, values, strict=True):
            self.scope[name] = Data(kind, divides_as(kind, data_of(value)))
        self.value(function.value, where)
        self.scope = outer
        return Data(function.kind)

    # ---- memory


def kind_of(t: Type) -> Kind:
    """The kind of value that a lane holds of an instruction's operand of type t: narrow numbers as
    their bits."""
    held = t.elem if isinstance(t, Array) else t
    if isinstance(held, Scalar):
        return Kind(held.name)
    assert isinstance(held, Vector)
    assert isinstance(held.width, int)
    bits = held.scalar in NARROW_REALS
    return Kind("ushort" if bits else held.scalar.name, held.width)


def _joined_by_and(e: CExpr) -> list[CExpr]:
    """The conditions that && joins in e, in their order: guards of many padded axes join hundreds,
    which would be too deep for a recursion."""
    found: list[CExpr] = []
    while isinstance(e, Infix) and e.op == "&&":
        found.append(e.right)
        e = e.left
    return [e, *reversed(found)]
