"""The printer of core terms, as text that parses back to the same term."""

# key: e term, p pattern, level how tightly an operator binds

from ir.core.nodes import (
    Binary,
    Expr,
    Get,
    Lam,
    Let,
    Lit,
    MakeArray,
    Param,
    Program,
    SizeOf,
    Unary,
    Var,
)
from ir.core.size import show_size
from ir.core.type_rules import COMPARISONS
from ir.core.types import show_type
from ir.core.views import is_plain_view
from ir.text.spell import (
    ATOM,
    LEVELS,
    UNARY,
    arrow,
    is_number,
    number,
    parts_of,
    show_pattern,
    strict,
    strict_line,
)

WIDTH = 100


def show(e: Program | Expr) -> str:
    """The text of a program, or of one term."""
    return _program(e) if isinstance(e, Program) else _block(e, 0, "")


def _program(p: Program) -> str:
    head = f"{p.name}("
    params = (",\n" + " " * len(head)).join(map(_param, p.params))
    where = f"\nwhere {', '.join(f'{name} = ?' for name in p.free)}" if p.free else ""
    return f"{head}{params}) =\n  {_block(p.body, 2, '')}{where}\n"


def _param(p: Param) -> str:
    return f"{'const ' * p.const}{p.var.name} : {show_type(p.var.type)}"


# ---- one line or several


def _block(e: Expr, indent: int, after: str) -> str:
    """The text of e, which begins in column `indent` and is followed by `after`; broken into lines
    if it is too long for one."""
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
            return f"{arrow(e)}{new}  {_block(body, indent + 2, after)}"
        case Binary(op, _, _) if op in LEVELS:
            return _operators(e, indent, after)
        case Unary("neg", a):
            return f"-({_block(a, indent + 2, ')' + after)}"
        case Get(i, a):
            return f"({_block(a, indent + 1, f').{i}{after}')}"
        case MakeArray(parts):
            return _list(parts, indent, after)
        case Var() | Lit() | SizeOf():
            return (line or "") + after
    return _call(e, indent, after)


def _value(value: Expr, indent: int) -> str:
    """The text of the value of a let in column `indent`, in brackets if the value is a let
    itself."""
    if isinstance(value, Let):
        return f"({_block(value, indent + 4, ')')}"
    return _block(value, indent + 4, "")


def _body(body: Expr, indent: int, after: str) -> str:
    """The text of a let's body, which begins in column `indent` and is followed by `after`. It is
    in brackets if it starts with a minus, which would else be read as a subtraction."""
    text = _block(body, indent, after)
    return f"({_block(body, indent + 1, ')' + after)}" if text.startswith("-") else text


def _operators(e: Binary, indent: int, after: str) -> str:
    """The text of operations in a row, such as a + b - c, with a line for each operand; it begins
    in column `indent` and is followed by `after`."""
    spine = [e]
    while isinstance(left := spine[-1].a, Binary) and _goes_on(left.op, e.op):
        spine.append(left)
    text = _open(spine[-1].a, indent, "")
    for step in reversed(spine):
        end = after if step is e else ""
        text += f" {step.op}\n{' ' * indent}{_open(step.b, indent, end)}"
    return text


def _goes_on(op: str, other: str) -> bool:
    """True if `a op b other c` needs no brackets. A comparison beside a comparison does: they are
    not chained."""
    return LEVELS.get(op) == LEVELS[other] and other not in COMPARISONS


def _open(e: Expr, indent: int, after: str) -> str:
    """The text of an operand of an operator that is broken into lines; it begins in column `indent`
    and is followed by `after`. It is in brackets if it is a let or an operation."""
    if isinstance(e, Let) or _level(e) < ATOM:
        return f"({_block(e, indent + 1, ')' + after)}"
    return _block(e, indent, after)


def _call(e: Expr, indent: int, after: str) -> str:
    """The text of a call, which begins in column `indent` and is followed by `after`: its first
    arguments on the line of its head, each other argument on lines of its own."""
    head, args = parts_of(e)
    text, new = f"{head}(", "\n" + " " * (indent + 2)
    lead = _lead(args, WIDTH - indent - len(text))
    text += " ".join(f"{line}," for line in lead)
    rest = args[len(lead) :]
    for i, arg in enumerate(rest):
        end = ")" + after if i == len(rest) - 1 else ","
        if i == 0 and isinstance(arg, Lam) and len(rest) > 1:
            space = " " if lead else ""
            inner = _block(arg.body, indent + 4, end)
            text += f"{space}{arrow(arg)}\n{' ' * (indent + 4)}{inner}"
        else:
            text += new + (_block(arg, indent + 2, end) if isinstance(arg, Expr) else arg + end)
    return text


def _list(parts: tuple[Expr, ...], indent: int, after: str) -> str:
    """The text of [a, b, …], the array of these parts, with as many on a line as fit; it begins in
    column `indent` and is followed by `after`."""
    text, column = "[", indent + 1
    for i, part in enumerate(parts):
        end = "]" + after if i == len(parts) - 1 else ","
        line = _line(part)
        width = len(line or "") + len(end)
        if indent + 1 + width > WIDTH:
            line = None
        if i and (line is None or column + 1 + width > WIDTH):
            text, column = text + "\n" + " " * (indent + 1), indent + 1
        elif i:
            text, column = text + " ", column + 1
        text += _block(part, indent + 1, end) if line is None else line + end
        column = WIDTH if line is None else column + width
    return text


def _lead(args: tuple[str | Expr, ...], room: int) -> list[str]:
    """The texts of the first of `args`, as many as fit in `room` columns; the last argument is
    never among them."""
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
    """The text of e on one line; None if e contains a let, which needs several lines."""
    match e:
        case Var(name, _):
            return name
        case Lit():
            return number(e)
        case SizeOf(size):
            return f"size({show_size(size)})"
        case Let():
            return None
        case Lam(_, body):
            inner = _line(body)
            return None if inner is None else f"{arrow(e)} {inner}"
        case Binary(op, a, b) if op in LEVELS:
            level = LEVELS[op]
            left = level + (op in COMPARISONS)
            x, y = _operand(a, left, strict(a, b)), _operand(b, level + 1, strict(b, a))
            return None if x is None or y is None else f"{x} {op} {y}"
        case Unary("neg", a):
            x = _operand(a, ATOM)
            return x and (f"-({x})" if isinstance(a, Lit) and x[0] != "(" else f"-{x}")
        case MakeArray(parts):
            inside = [line for part in parts if (line := _line(part)) is not None]
            return f"[{', '.join(inside)}]" if len(inside) == len(parts) else None
        case Get(i, a):
            x = _operand(a, ATOM)
            return None if x is None else f"{x}.{i}"
    head, args = parts_of(e)
    lines = [a if isinstance(a, str) else _line(a) for a in args]
    whole = [line for line in lines if line is not None]
    return f"{head}({', '.join(whole)})" if len(whole) == len(lines) else None


def _operand(e: Expr, level: int, strict: bool = False) -> str | None:
    line = strict_line(e) if strict else _line(e)
    return f"({line})" if line is not None and _level(e) < level else line


def _level(e: Expr) -> int:
    match e:
        case Binary(op, _, _) if op in LEVELS:
            return LEVELS[op]
        case Unary("neg", _):
            return UNARY
        case Lit() if number(e).startswith("-"):
            return UNARY
        case Lam() | Let():
            return 0
    return ATOM


def _let(e: Let) -> str:
    """The word for a let: `let!` where parsing a `let` would put a view in the place of its
    name."""
    return "let!" if is_plain_view(e.value) or is_number(e.value) else "let"
