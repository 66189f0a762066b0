"""Sizes as they are written: their evaluation, and the names that `where` binds."""

# key: a b sizes

from collections.abc import Callable, Iterable, Mapping

from ir.core.nodes import Lit, SizeOf
from ir.core.size import Name as Atom
from ir.core.size import Size, ceil_div, exact, floor_div, named, remainder, round_up, show_size
from ir.core.types import Scalar
from ir.errors import Span, UserError
from ir.text.suggest import did_you_mean
from ir.text.surface import Apply, Binding, Done, Name, Number, Operator, Surface

LARGEST = 2**62
TERMS = 200  # of a symbolic size

FUNCTIONS: Mapping[str, Callable[[Size, Size], Size]] = {
    "floor": floor_div,
    "ceil": ceil_div,
    "round_up": round_up,
}


def evaluate(e: Surface, lookup: Callable[[Name], Size]) -> Size:
    """The size that a surface tree stands for; names are looked up by `lookup`."""
    match e:
        case Name():
            return lookup(e)
        case Number(value, suffix, span):
            if isinstance(value, float) or suffix:
                raise UserError(f"expected a size, found the number {value}", span)
            return value
        case Done(Lit(int() as n, Scalar("int")), _) | Done(SizeOf(n), _):
            return n
        case Operator("neg", (a,), _):
            return -evaluate(a, lookup)
        case Operator(op, (a, b), span):
            return _bounded(_operate(op, evaluate(a, lookup), evaluate(b, lookup), e), span)
        case Apply(Name(f), (a, b), span) if f in FUNCTIONS:
            divisor = evaluate(b, lookup)
            _check_divisor(divisor, b.span)
            return _bounded(FUNCTIONS[f](evaluate(a, lookup), divisor), span)
    raise UserError("expected a size: numbers and size names under + - * / %", e.span)


def _operate(op: str, a: Size, b: Size, e: Operator) -> Size:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
    _check_divisor(b, e.parts[1].span)
    if op == "%":
        return remainder(a, b)
    if isinstance(a, int) and isinstance(b, int) and a % b:
        raise UserError(
            f"{a} / {b} is not a whole number: `/` on sizes is exact (floor(a, b) rounds down)",
            e.span,
        )
    return exact(a, b)


def _check_divisor(b: Size, span: Span) -> None:
    if b == 0:
        raise UserError("a size is divided by 0", span)


def _bounded(a: Size, span: Span) -> Size:
    if isinstance(a, int):
        if abs(a) > LARGEST:
            raise UserError("this size is too large: expected at most 2^62", span)
    elif _weight(a) > TERMS:
        raise UserError(f"expected a size of at most {TERMS} terms, found more", span)
    return a


def _weight(a: Size) -> int:
    """The number of numbers and names in a size."""
    if isinstance(a, int):
        return 1
    factors = [(atom, power) for p in (a.num, a.den) for m, _ in p for atom, power in m]
    inside = [1 if isinstance(f, Atom) else _weight(f.a) + _weight(f.b) for f, _ in factors]
    powers = sum(power for _, power in factors)
    return len(a.num) + len(a.den) + powers + sum(inside)


def size_names(e: Surface) -> Iterable[Name]:
    """The names in a size as it is written."""
    match e:
        case Name():
            yield e
        case Operator(_, parts, _) | Apply(_, parts, _):
            for part in parts:
                yield from size_names(part)


def where_sizes(where: tuple[Binding, ...], given: Mapping[str, int]) -> dict[str, Size]:
    """The size of each name that `where` binds; the sizes in `given`, from the command line,
    replace those that are written."""
    written = _unique(where)
    sizes: dict[str, Size] = dict(given)
    opened: list[str] = []

    def lookup(name: Name) -> Size:
        if name.text in sizes:
            return sizes[name.text]
        if name.text not in written:
            hint = did_you_mean(name.text, written) or "; bind it after `where`"
            raise UserError(f"unbound size `{name.text}`{hint}", name.span)
        if name.text in opened:
            circle = " -> ".join([*opened[opened.index(name.text) :], name.text])
            raise UserError(f"`where` goes in a circle: {circle}", name.span)
        opened.append(name.text)
        size = written[name.text].size
        sizes[name.text] = named(name.text) if size is None else evaluate(size, lookup)
        opened.pop()
        return sizes[name.text]

    for binding in where:
        lookup(binding.name)
    return sizes


def _unique(where: tuple[Binding, ...]) -> dict[str, Binding]:
    found: dict[str, Binding] = {}
    for binding in where:
        name = binding.name
        if name.text in found:
            raise UserError(
                f"duplicate name: `{name.text}` is bound twice after `where`", name.span
            )
        found[name.text] = binding
    return found


def at_least_one(a: Size, span: Span, what: str = "an array's size") -> Size:
    """The size a itself; a UserError at `span` if it is a number below 1. `what` names it in the
    message."""
    if isinstance(a, int) and a < 1:
        raise UserError(f"{what} is {show_size(a)}; expected at least 1", span)
    return a
