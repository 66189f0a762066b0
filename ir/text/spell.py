"""The spelling of nodes, numbers and patterns; `parts_of` gives a node's head and arguments."""

from ir.core.instruction import Instruct
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Binary,
    Concat,
    Expr,
    Generate,
    Join,
    Lam,
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
from ir.core.size import show_size
from ir.core.terms import variables
from ir.core.type_rules import COMPARISONS, elem_of, type_of
from ir.core.types import (
    FLOAT,
    INT,
    NARROW_REALS,
    Tuple,
    Type,
    Vector,
    is_whole,
    narrow_real,
    scalar_of,
)

COMPARED, EITHER, BOTH, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(1, 9)
SUFFIXES = {"float": "f", "half": "h", "bfloat": "b", "int": "i"}
SUFFIXES |= {"long": "L", "short": "s", "ushort": "us", "char": "c", "uchar": "uc"}
LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT}
LEVELS |= {"<<": SHIFT, ">>": SHIFT, "&": BOTH, "|": EITHER}
LEVELS |= dict.fromkeys(COMPARISONS, COMPARED)


def show_pattern(p: Pattern) -> str:
    """The text of a pattern, x or (a, (b, c))."""
    return p.name if isinstance(p, Var) else f"({', '.join(map(show_pattern, p))})"


def arrow(f: Lam) -> str:
    """The text `x ->` that begins the lambda f, or `vectorized x ->` if its elements are
    vectors."""
    word = "vectorized " if any(_is_vector(v.type) for v in variables(f.pattern)) else ""
    return f"{word}{show_pattern(f.pattern)} ->"


def _is_vector(t: Type) -> bool:
    return isinstance(t, Vector) or (isinstance(t, Tuple) and any(map(_is_vector, t.parts)))


# ---- numbers


def number(e: Lit, strict: bool = False) -> str:
    """The text of a literal; with its suffix if `strict`, or if it is neither float nor int."""
    suffix = "" if e.scalar in (FLOAT, INT) and not strict else SUFFIXES[e.scalar.name]
    return f"{int(e.value) if is_whole(e.scalar) else float(e.value)!r}{suffix}"


def strict(e: Expr, other: Expr) -> bool:
    """True if e, a term made of float literals, would be read as half or bfloat beside `other` if
    it were written without suffixes."""
    return is_number(e) and type_of(e) == FLOAT and scalar_of(type_of(other)) in NARROW_REALS


def is_number(e: Expr) -> bool:
    """True if e is made only of literals, so that, if it were written without suffixes, its type
    would adapt to the other operand."""
    match e:
        case Lit():
            return True
        case Unary("neg", a) | Generate(_, Lam(_, a)):
            return is_number(a)
        case Binary(op, a, b):
            return op in LEVELS and is_number(a) and is_number(b)
        case MakeTuple(parts) | MakeArray(parts):
            return all(map(is_number, parts))
    return False


def strict_line(e: Expr) -> str:
    """The text of e, a term made of literals, with their suffixes, so that its type does not adapt
    to another operand."""
    match e:
        case Lit():
            return number(e, True)
        case Unary("neg", a):
            return f"-({strict_line(a)})"
        case Binary(op, a, b):
            return f"({strict_line(a)}) {op} ({strict_line(b)})"
        case MakeTuple(parts):
            return f"({', '.join(map(strict_line, parts))})"
        case MakeArray(parts):
            return f"[{', '.join(map(strict_line, parts))}]"
        case Generate(n, f):
            return f"generate({show_size(n)}, {arrow(f)} {strict_line(f.body)})"
    raise AssertionError(f"{type(e).__name__} is no number")


# ---- calls


def parts_of(e: Expr) -> tuple[str, tuple[str | Expr, ...]]:
    """The head and the arguments with which the node e is written: texts, and terms yet to be
    printed."""
    match e:
        case Map(f, xs):
            return "map", (f, xs)
        case MapPar(level, dim, f, xs):
            return f"{level.value}({dim})", (f, xs)
        case MapSeq(f, xs, unrolled):
            return f"{'unrolled ' * unrolled}mapSeq", (f, xs)
        case Reduce(init, f, xs):
            return "reduce", (_init(init, xs), f, xs)
        case ReduceSeq(init, f, xs, unrolled, ahead):
            word = f"{'unrolled ' * unrolled}reduceSeq{'StepAhead' * ahead}"
            return word, (_init(init, xs), f, xs)
        case Generate(n, f):
            return "generate", (show_size(n), f)
        case MakeTuple(parts):
            return "", parts
        case Instruct(instruction, parts):
            return instruction.name, parts
        case Binary(op, a, b):
            return op, (_beside(a, b), _beside(b, a))
        case Unary(op, a):
            return op, (a,)
        case Select(c, a, b):
            return "select", (c, _beside(a, b), _beside(b, a))
    return _view(e)


def _view(e: Expr) -> tuple[str, tuple[str | Expr, ...]]:
    match e:
        case Zip(parts):
            return "zip", parts
        case Split(m, xs):
            return "split", (show_size(m), xs)
        case Join(xs):
            return "join", (xs,)
        case Slide(size, step, xs, strict):
            return "slide_strict" if strict else "slide", (show_size(size), show_size(step), xs)
        case Pad(left, right, value, xs):
            return "pad", (show_size(left), show_size(right), value, xs)
        case PadEdge(edge, left, right, xs):
            return f"pad_{edge.value}", (show_size(left), show_size(right), xs)
        case Transpose(xs):
            return "transpose", (xs,)
        case Reorder(f, xs):
            return "reorder", (f, xs)
        case Concat(a, b):
            return "concat", (a, b)
        case At(k, xs):
            return "at", (show_size(k), xs)
        case AsVector(n, xs):
            return "asVector", (show_size(n), xs)
        case AsScalar(xs):
            return "asScalar", (xs,)
        case ToLocal(a):
            return e.word, (a,)
        case ToPrivate(a):
            return "toPrivate", (a,)
        case Store(a):
            return "store", (a,)
    raise AssertionError(f"no way to show {type(e).__name__}")


def _init(init: Expr, xs: Expr) -> str | Expr:
    """The initial value of a reduction over xs: as text with suffixes if it is a float literal over
    narrower numbers, else the term itself."""
    return strict_line(init) if is_number(init) and narrow_real(elem_of(xs)) else init


def _beside(e: Expr, other: Expr) -> str | Expr:
    return strict_line(e) if strict(e, other) else e
