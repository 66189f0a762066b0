"""The text that tells from which node a constraint comes: the node's head, its sizes, and its inner
terms in short."""

# key: e term

from ir.core.instruction import Instruct
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Binary,
    Concat,
    Edge,
    Expr,
    Generate,
    Get,
    Join,
    Let,
    Lit,
    MakeArray,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
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
from ir.core.size import show_size
from ir.core.terms import children, once, variables
from ir.core.type_rules import COMPARISONS
from ir.text.spell import ATOM, LEVELS, UNARY

EDGES = {Edge.CLAMP: "pad_clamp", Edge.MIRROR: "pad_mirror", Edge.WRAP: "pad_wrap"}


def brief(e: Expr, depth: int = 2) -> str:
    """The text of the node e on one line; terms deeper inside than `depth` are left out."""
    if depth == 2:
        return _whole(e)
    return "…" if depth < 0 else _brief(e, depth - 1)


@once
def _whole(e: Expr) -> str:
    return _brief(e, 1)


def _brief(e: Expr, depth: int) -> str:
    match e:
        case Var(name, _):
            return name
        case Lit(value, _):
            return str(value)
        case SizeOf(n):
            return show_size(n)
        case Get(i, xs):
            return f"{brief(xs, depth)}.{i}"
        case Let(p, value, _):
            return f"let {', '.join(v.name for v in variables(p))} = {brief(value, depth)}"
        case MapPar(level, dim, _, xs):
            return f"{level.value}({dim})(…, {brief(xs, depth)})"
        case MapSeq(_, xs, unrolled):
            return f"{_unrolled(unrolled)}mapSeq(…, {brief(xs, depth)})"
        case ReduceSeq(_, _, xs, unrolled):
            return f"{_unrolled(unrolled)}reduceSeq(…, {brief(xs, depth)})"
        case Map(_, xs):
            return f"map(…, {brief(xs, depth)})"
        case Reduce(_, _, xs):
            return f"reduce(…, {brief(xs, depth)})"
        case Generate(n, _):
            return f"generate({show_size(n)}, …)"
        case ToLocal(a):
            return f"{e.word}({brief(a, depth)})"
        case Instruct(instruction, parts):
            return f"{instruction.name}({', '.join(brief(p, depth) for p in parts)})"
        case ToPrivate(a):
            return f"toPrivate({brief(a, depth)})"
        case Store(a):
            return f"store({brief(a, depth)})"
        case Unary() | Binary() | Select():
            return _operation(e, depth)
    return _view(e, depth)


def _operation(e: Unary | Binary | Select, depth: int) -> str:
    match e:
        case Unary("neg", a):
            return f"-{_operand(a, depth, UNARY)}"
        case Binary(op, a, b) if op in LEVELS:
            left = LEVELS[op] + (op in COMPARISONS)
            return f"{_operand(a, depth, left)} {op} {_operand(b, depth, LEVELS[op] + 1)}"
        case Unary(op, _) | Binary(op, _, _):
            return f"{op}({', '.join(brief(x, depth) for x in children(e))})"
    return f"select({', '.join(brief(x, depth) for x in children(e))})"


def _operand(e: Expr, depth: int, level: int) -> str:
    """The text of an operand, in parentheses if it binds less than `level`."""
    text = brief(e, depth)
    loose = isinstance(e, Binary) and LEVELS.get(e.op, ATOM) < level
    return f"({text})" if loose and " " in text else text


def _view(e: Expr, depth: int) -> str:
    match e:
        case Split(n, xs):
            return f"split({show_size(n)}, {brief(xs, depth)})"
        case Slide(size, step, xs, strict):
            name = "slide_strict" if strict else "slide"
            return f"{name}({show_size(size)}, {show_size(step)}, {brief(xs, depth)})"
        case Pad(l, r, _, xs):
            return f"pad({show_size(l)}, {show_size(r)}, …, {brief(xs, depth)})"
        case PadEdge(edge, l, r, xs):
            name = EDGES.get(edge, "pad_any")
            return f"{name}({show_size(l)}, {show_size(r)}, {brief(xs, depth)})"
        case AsVector(n, xs):
            return f"asVector({show_size(n)}, {brief(xs, depth)})"
        case At(k, xs):
            return f"at({show_size(k)}, {brief(xs, depth)})"
        case Join(xs) | Transpose(xs) | AsScalar(xs) | Reorder(_, xs):
            name = type(e).__name__
            return f"{name[0].lower()}{name[1:]}({brief(xs, depth)})"
        case MakeArray(parts):
            return f"[{', '.join(brief(p, depth) for p in parts)}]"
        case Zip(parts):
            return f"zip({', '.join(brief(p, depth) for p in parts)})"
        case Concat(a, b):
            return f"concat({brief(a, depth)}, {brief(b, depth)})"
    return type(e).__name__.lower()


def _unrolled(unrolled: bool) -> str:
    return "unrolled " if unrolled else ""
