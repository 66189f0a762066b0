"""The arithmetic of a text: of ints as arithmetic of indices, of data as far as its kind matters.

`int` and `long` arithmetic is index arithmetic as long as nothing overflows and no negative number
is divided: both are demanded at every step, in the type that C computes it in.
"""

# key: x y indices, d divisor

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from codegen.index.condition import Condition, at_least, less
from codegen.index.index import Index, assume, constant
from codegen.proof.accesses import Where
from codegen.proof.verdicts import Kind as About
from codegen.text_proof.c_values import Data, Int, Truth, Value
from codegen.text_proof.reading import Reading
from codegen.text_reader.c_words import SIZES
from codegen.tree.kernel_values import Kind

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
class Arithmetic:
    """The arithmetic of one kernel's text, from operator and operands to the value of the
    result."""

    reading: Reading

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
        return self.of_data(op, data_of(a), data_of(b), where)

    def divided(self, op: str, x: Index, y: Index, where: Where) -> Index:
        """The index x / y or x % y (`op`); C rounds to zero, an index down: they agree for
        dividends that are not negative."""
        if not y.is_constant:
            raise self.reading.refused(
                f"expected a number as the divisor of an index, found {y.key}"
            )
        d = y.constant
        if d < 1:
            self.reading.demand(About.DIVISION, f"a divisor {d}", [constant(d - 1)], where)
            return x
        if x.lo is None or x.lo < 0:
            self.reading.demand(About.DIVISION, f"{x.key} ≥ 0", [x], where)
            x = assume(x, 0)
        return x // d if op == "/" else x % d

    def of_data(self, op: str, a: Data, b: Data, where: Where) -> Data:
        kind = joined(a.kind, b.kind)
        if op in ("/", "%") and is_whole(kind) and not b.divides:
            self.reading.demand(About.DIVISION, "a divisor that is data", [constant(-1)], where)
        scalar = "int" if op in COMPARISONS or op in ("==", "!=") else kind.scalar
        return Data(Kind(scalar, kind.width))

    def fitting(self, index: Index, wide: bool, where: Where) -> Index:
        """The index itself, with the demand that it is in the range of the type that it is computed
        in: a long if `wide`, else an int."""
        low, high = LIMITS[wide]
        if not fits(index, wide):
            kind = "a long" if wide else "an int"
            self.reading.demand(
                About.OVERFLOW, f"{kind} for {index.key}", [index - low, -index + high], where
            )
        return index

    def negative(self, value: Value, where: Where) -> Value:
        if isinstance(value, Int):
            return Int(self.fitting(-value.index, value.wide, where), value.wide)
        return Data(data_of(value).kind)


def data_of(value: Value) -> Data:
    """The value as data: its kind is kept, its number forgotten."""
    match value:
        case Data():
            return value
        case Int(index, wide):
            low, high = index.lo, index.hi
            apart = (low is not None and low > 0) or (high is not None and high < -1)
            return Data(Kind("long") if wide else INT, apart)
    return FALSE


def divides_as(kind: Kind, value: Data) -> bool:
    """True if a value is known to be neither 0 nor -1 after conversion to `kind`: it is known to be
    neither before, and the conversion cuts off no bits."""
    wide = SIZES[kind.scalar] >= SIZES[value.kind.scalar]
    return value.divides and is_whole(kind) and wide


def joined(a: Kind, b: Kind) -> Kind:
    """The kind that an operator computes in, from those of its operands."""
    if a == b:
        return a
    scalar = max(a.scalar, b.scalar, key=rank)
    return Kind(scalar, max(a.width, b.width))


def rank(scalar: str) -> tuple[bool, int]:
    return not is_whole(Kind(scalar)), SIZES[scalar]


def is_whole(kind: Kind) -> bool:
    """True if values of a kind are integers."""
    return kind.scalar not in ("float", "half")


def fits(index: Index, wide: bool) -> bool:
    """True if an index is in the range of a long (`wide`) or of an int, whatever the values of its
    variables."""
    low, high = LIMITS[wide]
    return index.lo is not None and index.hi is not None and low <= index.lo and index.hi <= high
