"""The nodes of programs, which are typed terms; a node's docstring is its signature, `[T]n` an
array of n T.

Nodes hold sizes that are numbers or expressions over tuning parameters; variables carry their type,
so that the type of any term follows from the term alone (`ir.core.type_rules.type_of`).
"""

# key: f function, xs arrays, e expression, n size, l r amounts left and right

from enum import Enum

from ir.core.frozen import frozen
from ir.core.hash_once import Hashed, hashed
from ir.core.size import Size
from ir.core.types import Scalar, Type, show_type


class Expr(Hashed):
    """A term. Its slots cache what has been derived from it: children, free variables, hash and
    type.

    They also cache the strategies known to succeed nowhere inside it, and the results of functions
    that remember them (`ir.core.terms.once`).
    """

    __slots__ = ("_barren", "_children", "_free", "_said", "_type")
    _barren: set[object]
    _children: tuple["Expr", ...]
    _free: frozenset[str]
    _said: dict[object, object]
    _type: Type


# ---- functions and scalars


@hashed
class Var(Expr):
    """x : T, a variable with its type"""

    name: str
    type: Type


Pattern = Var | tuple["Pattern", ...]


@hashed
class Lam(Expr):
    """pattern -> body, a function; that of a reduction takes the pair (acc, x)"""

    pattern: "Pattern"
    body: Expr


@hashed
class Lit(Expr):
    """a number : scalar, a literal"""

    value: float | int
    scalar: Scalar

    def __eq__(self, other: object) -> bool:
        """True if both literals are written alike: 0.0 is not -0.0."""
        return (
            isinstance(other, Lit)
            and self.scalar == other.scalar
            and repr(self.value) == repr(other.value)
        )


@hashed
class SizeOf(Expr):
    """a size as a value : int"""

    size: Size


@hashed
class Unary(Expr):
    """op : T -> T, op one of neg exp log sqrt tanh cospi sinpi abs, T scalar or vector; whole
    numbers become ints. Or op : T -> U, one of the conversions to the scalar U"""

    op: str
    e: Expr


@hashed
class Binary(Expr):
    """op : T, T -> T, op one of + - * / % << >> & | max min, T scalar or vector; a scalar meets
    a vector. All but max and min make ints of narrower whole numbers. Or op : T, T -> int, a
    comparison: 1 where it holds, else 0"""

    op: str
    a: Expr
    b: Expr


@hashed
class Select(Expr):
    """int, T, T -> T, the number a where the condition is not 0, else b; T scalar or vector, and
    both may be computed"""

    condition: Expr
    a: Expr
    b: Expr


@hashed
class MakeTuple(Expr):
    """T, U, … -> (T, U, …), a tuple of these values"""

    parts: tuple[Expr, ...]


@hashed
class MakeArray(Expr):
    """T, T, … -> [T]n, an array of these elements; of numbers, or rows of numbers, it is a constant
    table"""

    parts: tuple[Expr, ...]


@hashed
class Get(Expr):
    """(T0, T1, …) -> Ti, the i-th component of a tuple"""

    index: int
    e: Expr


@hashed
class Let(Expr):
    """value : T, pattern : T, body : U -> U; the value is computed once"""

    pattern: "Pattern"
    value: Expr
    body: Expr


# ---- algorithms


@hashed
class Map(Expr):
    """(T -> U), [T]n -> [U]n, f on each element; in a lowered program computed on demand, where it
    is read"""

    f: Lam
    xs: Expr


@hashed
class Reduce(Expr):
    """U, ((U, T) -> U), [T]n -> U, a left fold"""

    init: Expr
    f: Lam
    xs: Expr


@hashed
class Generate(Expr):
    """n, (int -> T) -> [T]n, the array of f(0) … f(n-1)"""

    size: Size
    f: Lam


# ---- views


@hashed
class Zip(Expr):
    """[T]n, [U]n, … -> [(T, U, …)]n, the array of tuples of elements at the same place"""

    parts: tuple[Expr, ...]


@hashed
class Split(Expr):
    """m, [T]n -> [[T]m](n/m), an array cut into chunks of m"""

    size: Size
    xs: Expr


@hashed
class Join(Expr):
    """[[T]m]n -> [T](n*m), an array of chunks as one array"""

    xs: Expr


@hashed
class Slide(Expr):
    """size, step, [T]n -> [[T]size](floor((n-size)/step)+1), windows; strict: (n-size) % step =
    0"""

    size: Size
    step: Size
    xs: Expr
    strict: bool = False


@hashed
class Pad(Expr):
    """l, r, v : T or its scalar, [T]n -> [T](l+n+r), padding with v; negative amounts crop"""

    left: Size
    right: Size
    value: Expr
    xs: Expr


class Edge(Enum):
    """The source of the elements that a padding adds; with ANY, nobody reads them."""

    CLAMP = "clamp"
    MIRROR = "mirror"
    WRAP = "wrap"
    ANY = "any"


@hashed
class PadEdge(Expr):
    """l, r, [T]n -> [T](l+n+r), padding with elements of the array itself; negative amounts crop"""

    edge: Edge
    left: Size
    right: Size
    xs: Expr


@hashed
class Transpose(Expr):
    """[[T]n]m -> [[T]m]n, rows and columns exchanged"""

    xs: Expr


@hashed
class Reorder(Expr):
    """(int -> int), [T]n -> [T]n, out[i] = xs[f(i)], f a bijection"""

    f: Lam
    xs: Expr


@hashed
class Concat(Expr):
    """[T]n, [T]m -> [T](n+m), one array behind the other"""

    a: Expr
    b: Expr


@hashed
class At(Expr):
    """k, [T]n -> T, the element at place k, 0 <= k < n"""

    k: Size
    xs: Expr


@hashed
class AsVector(Expr):
    """v, [T]n -> [T<v>](n/v), every scalar of T becoming a vector of v neighbours"""

    width: Size
    xs: Expr


@hashed
class AsScalar(Expr):
    """[T<v>]n -> [T](n*v), vectors of v scalars as scalars again"""

    xs: Expr


# ---- lowered


class Level(Enum):
    """The level of a parallel map, which says whether work-items or work-groups share its
    elements."""

    GLOBAL = "mapGlobal"
    GROUP = "mapWorkgroup"
    LOCAL = "mapLocal"


@hashed
class MapPar(Expr):
    """(T -> U), [T]n -> [U]n, a parallel map: each element by a work-item or a work-group, as
    `level` says, of dimension `dim`"""

    level: Level
    dim: int
    f: Lam
    xs: Expr


@hashed
class MapSeq(Expr):
    """(T -> U), [T]n -> [U]n, a sequential loop; if `unrolled`, its turns are spelled out"""

    f: Lam
    xs: Expr
    unrolled: bool = False


@hashed
class ReduceSeq(Expr):
    """U, ((U, T) -> U), [T]n -> U, a sequential loop; if `unrolled`, its turns are spelled out; if
    `ahead`, what matrix instructions multiply in its turns is loaded a step before, and the turns'
    copies in flight are begun between products"""

    init: Expr
    f: Lam
    xs: Expr
    unrolled: bool = False
    ahead: bool = False


AHEAD = ("", "Ahead", "TwoAhead", "ThreeAhead")  # in words, of how many iterations


def to_local_word(ahead: int, in_flight: bool) -> str:
    """The name in the language of a `toLocal` with these choices."""
    return f"toLocal{AHEAD[ahead]}{'InFlight' * in_flight}"


@hashed
class ToLocal(Expr):
    """T -> T, made real in local memory; `ahead`: so many iterations of the loop around before the
    one that uses the value, it begins to be loaded; `in_flight`: by copies that go on beside what
    follows, until they are awaited"""

    e: Expr
    ahead: int = 0
    in_flight: bool = False

    @property
    def word(self) -> str:
        """The name of the node in the language."""
        return to_local_word(self.ahead, self.in_flight)


@hashed
class ToPrivate(Expr):
    """T -> T, made real in private memory"""

    e: Expr


@hashed
class Store(Expr):
    """T -> T, made real in global memory by a kernel of its own"""

    e: Expr


@frozen
class Param:
    """A parameter of a program; `const` ones stay the same from run to run."""

    var: Var
    const: bool = False


@frozen
class Program:
    """A program name(parameters) = body; `free` names the tuning parameters that have no value
    yet."""

    name: str
    params: tuple[Param, ...]
    body: Expr
    free: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """The program's name and parameters; its text is that of `ir.show`."""
        params = (f"{p.var.name} : {show_type(p.var.type)}" for p in self.params)
        return f"<program {self.name}({', '.join(params)})>"
