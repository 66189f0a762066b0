"""Core terms as text that parses back to the same term."""

# key: e term, p pattern, level how tightly an operator binds

from ir.literals import has_half, scalar_of
from ir.nat import show_size
from ir.nodes import (
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
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    Param,
    Pattern,
    Program,
    Reduce,
    ReduceSeq,
    Reorder,
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
from ir.terms import variables
from ir.types import FLOAT, HALF, Tuple, Type, Vector, show_type
from ir.typing import elem_of, type_of
from ir.views import is_view

WIDTH = 100

SUM, PRODUCT, UNARY, ATOM = 1, 2, 3, 4
LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT}


def show(e: Program | Expr) -> str:
    """A program, or one term, as text."""
    return _program(e) if isinstance(e, Program) else _block(e, 0, "")


def _program(p: Program) -> str:
    head = f"{p.name}("
    params = (",\n" + " " * len(head)).join(map(_param, p.params))
    where = f"\nwhere {', '.join(f'{name} = ?' for name in p.free)}" if p.free else ""
    return f"{head}{params}) =\n  {_block(p.body, 2, '')}{where}\n"


def _param(p: Param) -> str:
    return f"{'const ' * p.const}{p.var.name} : {show_type(p.var.type)}"


def show_pattern(p: Pattern) -> str:
    """x or (a, (b, c))"""
    return p.name if isinstance(p, Var) else f"({', '.join(map(show_pattern, p))})"


# ---- one line or several


def _block(e: Expr, indent: int, after: str) -> str:
    """e from column `indent` on, `after` following it; broken where a line would be too long."""
    line = _line(e)
    if line is not None and indent + len(line) + len(after) <= WIDTH:
        return line + after
    new = "\n" + " " * indent
    match e:
        case Let(p, value, body):
            return f"{_let(e)} {show_pattern(p)} = {_value(value, indent)}{new}" + _body(
                body, indent, after
            )
        case Lam(p, body):
            return f"{_arrow(e)}{new}  {_block(body, indent + 2, after)}"
        case Binary(op, a, b) if op in LEVELS:
            return _open(a, indent, f" {op}") + new + _open(b, indent, after)
        case Unary("neg", a):
            return f"-({_block(a, indent + 2, ')' + after)}"
        case Get(i, a):
            return f"({_block(a, indent + 1, f').{i}{after}')}"
        case Var() | Lit() | SizeOf():
            return (line or "") + after
    return _call(e, indent, after)


def _value(value: Expr, indent: int) -> str:
    """What a let names: in brackets if it is one itself."""
    if isinstance(value, Let):
        return f"({_block(value, indent + 4, ')')}"
    return _block(value, indent + 4, "")


def _body(body: Expr, indent: int, after: str) -> str:
    """What follows a let; a minus there would be taken for a subtraction."""
    if (_line(body) or "").startswith("-"):
        return f"({_block(body, indent + 1, ')' + after)}"
    return _block(body, indent, after)


def _open(e: Expr, indent: int, after: str) -> str:
    """An operand of a long operator, in brackets unless it is a call."""
    if isinstance(e, Binary | Let | Unary):
        return f"({_block(e, indent + 1, ')' + after)}"
    return _block(e, indent, after)


def _call(e: Expr, indent: int, after: str) -> str:
    """head(first arguments, then each of the others on lines of its own)"""
    head, args = _parts(e)
    text, new = f"{head}(", "\n" + " " * (indent + 2)
    lead = _lead(args, WIDTH - indent - len(text))
    text += " ".join(f"{line}," for line in lead)
    rest = args[len(lead) :]
    for i, arg in enumerate(rest):
        end = ")" + after if i == len(rest) - 1 else ","
        if i == 0 and isinstance(arg, Lam) and len(rest) > 1:
            space = " " if lead else ""
            inner = _block(arg.body, indent + 4, end)
            text += f"{space}{_arrow(arg)}\n{' ' * (indent + 4)}{inner}"
        else:
            text += new + (_block(arg, indent + 2, end) if isinstance(arg, Expr) else arg + end)
    return text


def _lead(args: tuple[str | Expr, ...], room: int) -> list[str]:
    """The first arguments that fit on one line; the last argument is never among them."""
    lead: list[str] = []
    for arg in args[:-1]:
        line = arg if isinstance(arg, str) else _line(arg)
        if line is None or len(line) + 2 > room:
            break
        lead.append(line)
        room -= len(line) + 2
    return lead


# ---- on one line


def _line(e: Expr) -> str | None:
    """e on one line, unless it has a let, which needs lines of its own."""
    match e:
        case Var(name, _):
            return name
        case Lit():
            return _number(e)
        case SizeOf(size):
            return f"size({show_size(size)})"
        case Let():
            return None
        case Lam(_, body):
            inner = _line(body)
            return None if inner is None else f"{_arrow(e)} {inner}"
        case Binary(op, a, b) if op in LEVELS:
            level = LEVELS[op]
            x, y = _operand(a, level, _strict(a, b)), _operand(b, level + 1, _strict(b, a))
            return None if x is None or y is None else f"{x} {op} {y}"
        case Unary("neg", a):
            x = _operand(a, ATOM)
            bare = x is not None and isinstance(a, Var | Get | SizeOf)
            return None if x is None else f"-{x}" if bare or x[0] == "(" else f"-({x})"
        case Get(i, a):
            x = _operand(a, ATOM)
            return None if x is None else f"{x}.{i}"
    head, args = _parts(e)
    lines = [a if isinstance(a, str) else _line(a) for a in args]
    whole = [line for line in lines if line is not None]
    return f"{head}({', '.join(whole)})" if len(whole) == len(lines) else None


def _operand(e: Expr, level: int, strict: bool = False) -> str | None:
    line = _strict_line(e) if strict else _line(e)
    return f"({line})" if line is not None and _level(e) < level else line


def _level(e: Expr) -> int:
    match e:
        case Binary(op, _, _) if op in LEVELS:
            return LEVELS[op]
        case Unary("neg", _):
            return UNARY
        case Lit() if _number(e).startswith("-"):
            return UNARY
        case Lam() | Let():
            return 0
    return ATOM


def _arrow(f: Lam) -> str:
    """The head of a lambda, `vectorized` where its elements are vectors."""
    word = "vectorized " if any(_is_vector(v.type) for v in variables(f.pattern)) else ""
    return f"{word}{show_pattern(f.pattern)} ->"


def _is_vector(t: Type) -> bool:
    return isinstance(t, Vector) or (isinstance(t, Tuple) and any(map(_is_vector, t.parts)))


def _let(e: Let) -> str:
    """`let!` where parsing a `let` would put a view in the place of its name."""
    return "let!" if is_view(e.value) else "let"


# ---- numbers


def _number(e: Lit, strict: bool = False) -> str:
    """A half has its suffix; with `strict`, so has every number that could be taken for one."""
    if e.scalar == HALF:
        return f"{float(e.value)!r}h"
    if e.scalar == FLOAT:
        return f"{float(e.value)!r}{'f' if strict else ''}"
    return f"{int(e.value)}{'i' if strict else ''}"


def _strict(e: Expr, other: Expr) -> bool:
    """A float number beside a half would be read as a half."""
    return type_of(e) == FLOAT and scalar_of(type_of(other)) == HALF


def _strict_line(e: Expr) -> str | None:
    match e:
        case Lit():
            return _number(e, True)
        case Unary("neg", a):
            inner = _strict_line(a)
            return inner and f"-({inner})"
        case Binary(op, a, b) if op in LEVELS:
            x, y = _strict_line(a), _strict_line(b)
            return x and y and f"({x}) {op} ({y})"
        case MakeTuple(parts):
            lines = [_strict_line(part) for part in parts]
            return f"({', '.join(line for line in lines if line)})" if all(lines) else None
        case Generate(n, f):
            inner = _strict_line(f.body)
            return inner and f"generate({show_size(n)}, {_arrow(f)} {inner})"
    return _line(e)


# ---- calls


def _parts(e: Expr) -> tuple[str, tuple[str | Expr, ...]]:
    """The head and arguments with which a node is written."""
    match e:
        case Map(f, xs):
            return "map", (f, xs)
        case MapPar(level, dim, f, xs):
            return f"{level.value}({dim})", (f, xs)
        case MapSeq(f, xs, unrolled):
            return f"{'unrolled ' * unrolled}mapSeq", (f, xs)
        case Reduce(init, f, xs):
            return "reduce", (_init(init, xs), f, xs)
        case ReduceSeq(init, f, xs, unrolled):
            return f"{'unrolled ' * unrolled}reduceSeq", (_init(init, xs), f, xs)
        case Generate(n, f):
            return "generate", (show_size(n), f)
        case MakeTuple(parts):
            return "", parts
        case Binary(op, a, b):
            return op, (_beside(a, b), _beside(b, a))
        case Unary(op, a):
            return op, (a,)
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
        case ToLocal(a, ahead):
            return "toLocalAhead" if ahead else "toLocal", (a,)
        case ToPrivate(a):
            return "toPrivate", (a,)
        case Store(a):
            return "store", (a,)
    raise AssertionError(f"no way to show {type(e).__name__}")


def _init(init: Expr, xs: Expr) -> str | Expr:
    """What a reduction starts as: over halves, a float number must say that it is one."""
    if has_half(elem_of(xs)):
        return _strict_line(init) or init
    return init


def _beside(e: Expr, other: Expr) -> str | Expr:
    return _strict_line(e) or e if _strict(e, other) else e
