"""The types of terms: one rule for each kind of node, applied once to each term object."""

# key: e term, t u types, n m sizes

from ir.core.conversions import CONVERSIONS
from ir.core.instruction import Instruct
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Binary,
    Concat,
    Expr,
    Generate,
    Get,
    Join,
    Lam,
    Let,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    Pattern,
    Reduce,
    ReduceSeq,
    Reorder,
    Select,
    SizeOf,
    Slide,
    Split,
    Store,
    ToLocal,
    ToPrivate,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.size import Size, exact, floor_div, show_size
from ir.core.types import (
    FLOAT,
    INT,
    LARGEST,
    LONG,
    RANGES,
    Array,
    Scalar,
    Tuple,
    Type,
    Vector,
    equal,
    is_whole,
    leaves,
    lift,
    scalar_of,
    show_type,
    unlift,
)
from ir.errors import IllTyped

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
WHOLE_ONLY = frozenset({"%", "<<", ">>", "&", "|"})
REAL_ONLY = frozenset({"exp", "log", "sqrt", "tanh", "cospi", "sinpi"})


def type_of(e: Expr) -> Type:
    """The type of e; raises IllTyped where it has none."""
    try:
        return e._type
    except AttributeError:
        t = _infer(e)
        object.__setattr__(e, "_type", t)
        return t


def pattern_type(p: Pattern) -> Type:
    """The type of the value that a pattern takes apart."""
    return p.type if isinstance(p, Var) else Tuple(tuple(map(pattern_type, p)))


def array_of(e: Expr) -> Array:
    """The type of e, which must be an array."""
    t = type_of(e)
    if not isinstance(t, Array):
        raise IllTyped(f"expected an array, found {show_type(t)}")
    return t


def elem_of(e: Expr) -> Type:
    """The type of the elements of the array e."""
    return array_of(e).elem


def size_of(e: Expr) -> Size:
    """The size of the array e."""
    return array_of(e).size


def _infer(e: Expr) -> Type:
    match e:
        case Var(_, t):
            return t
        case Lit(value, scalar):
            return _literal(value, scalar)
        case SizeOf(n):
            return _literal(n, INT) if isinstance(n, int) else INT
        case Unary(op, a):
            return _unary(op, type_of(a))
        case Binary(op, a, b):
            return _binary(op, type_of(a), type_of(b))
        case Select(c, a, b):
            return _select(type_of(c), type_of(a), type_of(b))
        case MakeTuple(parts):
            return Tuple(tuple(map(type_of, parts)))
        case MakeArray(parts):
            for part in parts[1:]:
                _expect(type_of(parts[0]), type_of(part), "an array's element")
            return Array(type_of(parts[0]), len(parts))
        case Get(i, a):
            return _component(i, type_of(a))
        case Let(p, value, body):
            _expect(pattern_type(p), type_of(value), "let")
            return type_of(body)
        case Map(f, xs) | MapPar(_, _, f, xs) | MapSeq(f, xs, _):
            return Array(_apply(f, elem_of(xs)), size_of(xs))
        case Reduce(init, f, xs) | ReduceSeq(init, f, xs, _):
            return _reduction(type_of(init), f, elem_of(xs))
        case Generate(n, f):
            return Array(_apply(f, INT), n)
        case Store(a) | ToLocal(a, _) | ToPrivate(a):
            return type_of(a)
        case Instruct(instruction, parts):
            expected = pattern_type(instruction.meaning.pattern)
            _expect(expected, Tuple(tuple(map(type_of, parts))), instruction.name)
            return type_of(instruction.meaning.body)
        case Lam():
            raise IllTyped("expected a value, found a function")
        case _:
            return _view(e)


def _view(e: Expr) -> Type:
    match e:
        case Zip(parts):
            arrays = tuple(map(array_of, parts))
            for a in arrays[1:]:
                if not equal(Array(FLOAT, a.size), Array(FLOAT, arrays[0].size)):
                    raise IllTyped(
                        f"zip needs equal sizes, found {show_size(arrays[0].size)} "
                        f"and {show_size(a.size)}"
                    )
            return Array(Tuple(tuple(a.elem for a in arrays)), arrays[0].size)
        case Split(m, xs):
            return Array(Array(elem_of(xs), m), exact(size_of(xs), m))
        case Join(xs):
            inner = elem_of(xs)
            if not isinstance(inner, Array):
                raise IllTyped(f"join needs an array of arrays, found {show_type(type_of(xs))}")
            return Array(inner.elem, size_of(xs) * inner.size)
        case Slide(size, step, xs, strict):
            room = size_of(xs) - size
            count = exact(room, step) if strict else floor_div(room, step)
            return Array(Array(elem_of(xs), size), count + 1)
        case Pad(left, right, value, xs):
            _fits_pad(type_of(value), elem_of(xs))
            return Array(elem_of(xs), left + size_of(xs) + right)
        case PadEdge(_, left, right, xs):
            return Array(elem_of(xs), left + size_of(xs) + right)
        case Transpose(xs):
            inner = elem_of(xs)
            if not isinstance(inner, Array):
                raise IllTyped(
                    f"transpose needs an array of arrays, found {show_type(type_of(xs))}"
                )
            return Array(Array(inner.elem, size_of(xs)), inner.size)
        case Reorder(f, xs):
            _expect(INT, _apply(f, INT), "the index function of reorder")
            return type_of(xs)
        case Concat(a, b):
            _expect(elem_of(a), elem_of(b), "concat")
            return Array(elem_of(a), size_of(a) + size_of(b))
        case At(_, xs):
            return elem_of(xs)
        case AsVector(width, xs):
            return Array(lift(elem_of(xs), width), exact(size_of(xs), width))
        case AsScalar(xs):
            lane, width = unlift(elem_of(xs))
            return Array(lane, size_of(xs) * width)
    raise IllTyped(f"expected a term that has a type, found {type(e).__name__}")


def _apply(f: Lam, argument: Type) -> Type:
    _expect(pattern_type(f.pattern), argument, "a function's parameter")
    return type_of(f.body)


def _reduction(init: Type, f: Lam, elem: Type) -> Type:
    """The type of a reduction's result, from the type of its initial value (scalars are broadcast
    to vectors if needed), its function and its element type."""
    taken = pattern_type(f.pattern)
    if not isinstance(taken, Tuple) or len(taken.parts) != 2:
        raise IllTyped(
            f"a reduction's function takes (accumulator, element), found {show_type(taken)}"
        )
    acc = taken.parts[0]
    _expect(taken.parts[1], elem, "a reduction's element")
    _expect(acc, type_of(f.body), "a reduction's result")
    if not broadcasts(init, acc):
        raise IllTyped(
            f"expected a reduction to start as its accumulator, {show_type(acc)}, found that it "
            f"starts as {show_type(init)}"
        )
    return acc


def broadcasts(t: Type, u: Type) -> bool:
    """True if a value of type t may stand for one of type u: equal, or scalars repeated over
    vectors."""
    match t, u:
        case Scalar(), Vector(scalar, _):
            return t == scalar
        case Array(a, n), Array(b, m):
            return equal(Array(FLOAT, n), Array(FLOAT, m)) and broadcasts(a, b)
        case Tuple(ts), Tuple(us):
            return len(ts) == len(us) and all(map(broadcasts, ts, us))
    return equal(t, u)


def join_scalars(t: Type, u: Type) -> Type:
    """The common type of the operands t and u: int or long for whole numbers, float if one is
    float, a vector if one is a vector."""
    match t, u:
        case Scalar(), Scalar():
            return _met(t, u)
        case Vector(a, n), Vector(b, m) if equal(Array(FLOAT, n), Array(FLOAT, m)):
            return Vector(_met(a, b), n)
        case (Vector(a, n), Scalar() as b) | (Scalar() as b, Vector(a, n)):
            return Vector(_met(a, b), n)
    raise IllTyped(f"expected two numbers, found {show_type(t)} and {show_type(u)}")


def _met(a: Scalar, b: Scalar) -> Scalar:
    if is_whole(a) and is_whole(b):
        return LONG if LONG in (a, b) else INT
    if is_whole(a):
        return b
    if is_whole(b) or a == b:
        return a
    if FLOAT in (a, b):
        return FLOAT
    raise IllTyped(
        f"expected numbers of one type, found {a.name} and {b.name}: convert one, as in float(x)"
    )


def _literal(value: float, scalar: Scalar) -> Type:
    """The type of a literal of scalar type `scalar`; IllTyped if its value is out of range."""
    name = scalar.name
    if scalar.name in RANGES:
        least, most = RANGES[name]
        if not least <= value <= most:
            other = f", or a float, {value}.0" if scalar == INT else ""
            raise IllTyped(f"{value} is no {name}: expected {least} to {most}{other}")
    elif LARGEST[name] < abs(value) < float("inf"):
        raise IllTyped(f"{value} is no {name}: expected at most {LARGEST[name]:.8g}")
    return scalar


def _binary(op: str, t: Type, u: Type) -> Type:
    joined = join_scalars(t, u)
    if op in ("max", "min") and scalar_of(t) == scalar_of(u):
        return t if isinstance(t, Vector) else u
    if op in WHOLE_ONLY and not is_whole(joined):
        raise IllTyped(f"{op} needs ints, found {show_type(t)} and {show_type(u)}")
    return _with_scalar(joined, INT) if op in COMPARISONS else joined


def _select(c: Type, t: Type, u: Type) -> Type:
    """The type of a choice between numbers of the types t and u: a vector if any of the three is
    one."""
    chosen = _binary("max", t, u)
    if not is_whole(c):
        raise IllTyped(f"select needs an int as its condition, found {show_type(c)}")
    join_scalars(c, chosen)  # of equal widths
    if isinstance(c, Vector) and isinstance(chosen, Scalar):
        return Vector(chosen, c.width)
    return chosen


def _unary(op: str, t: Type) -> Type:
    if not isinstance(t, Scalar | Vector):
        raise IllTyped(f"{op} needs a number, found {show_type(t)}")
    if op in CONVERSIONS:
        return _with_scalar(t, CONVERSIONS[op].target)
    if op in REAL_ONLY and is_whole(t):
        raise IllTyped(f"{op} needs a float, found {show_type(t)}")
    return _with_scalar(t, _met(scalar, scalar)) if (scalar := scalar_of(t)) else t


def _with_scalar(t: Type, scalar: Scalar) -> Type:
    return Vector(scalar, t.width) if isinstance(t, Vector) else scalar


def _component(i: int, t: Type) -> Type:
    if not isinstance(t, Tuple) or not 0 <= i < len(t.parts):
        raise IllTyped(f"expected a tuple with a component {i}, found {show_type(t)}")
    return t.parts[i]


def _fits_pad(value: Type, elem: Type) -> None:
    if equal(value, elem):
        return
    if not isinstance(value, Scalar) or any(
        (leaf.scalar if isinstance(leaf, Vector) else leaf) != value for leaf in leaves(elem)
    ):
        raise IllTyped(
            f"pad needs a value like the elements, {show_type(elem)}, found {show_type(value)}"
        )


def _expect(expected: Type, found: Type, where: str) -> None:
    if not equal(expected, found):
        raise IllTyped(f"{where}: expected {show_type(expected)}, found {show_type(found)}")
