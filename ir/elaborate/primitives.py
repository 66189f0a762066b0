"""The table of primitives: their arguments, the checks of these, and the nodes that they make."""

# key: c call, f function, xs arrays, n m sizes

from collections.abc import Callable, Mapping
from itertools import product

from ir.core.conversions import CONVERSIONS
from ir.core.instruction import Instruct
from ir.core.nodes import (
    AHEAD,
    AsScalar,
    AsVector,
    At,
    Concat,
    Edge,
    Expr,
    Generate,
    Join,
    Lam,
    Level,
    Lit,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
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
    Zip,
    to_local_word,
)
from ir.core.size import Size, show_size
from ir.core.terms import variables
from ir.core.type_rules import REAL_ONLY, type_of
from ir.core.types import FLOAT, INT, Array, equal, is_whole, only_scalar, show_type
from ir.elaborate.bijection import check_bijection, stride
from ir.elaborate.environment import place
from ir.elaborate.literal_types import cast
from ir.elaborate.primitive_call import Call, Primitive
from ir.elaborate.reduction_call import reduction
from ir.errors import IllTyped, Unsupported, UserError, caret
from ir.instructions.entry import Called
from ir.instructions.table import CALLED

# ---- algorithms


def _map(node: Callable[[Lam, Expr], Expr], first: int = 0) -> Callable[[Call], Expr]:
    def make(c: Call) -> Expr:
        xs, t = c.array(first + 1)
        return node(c.lam(first, t.elem), xs)

    return make


def _parallel(level: Level) -> Callable[[Call], Expr]:
    def make(c: Call) -> Expr:
        dim = c.size(0)
        if dim not in (0, 1, 2):
            raise c.wrong(0, f"found dimension {show_size(dim)}, expected 0, 1 or 2")
        assert isinstance(dim, int)
        return _map(lambda f, xs: MapPar(level, dim, f, xs), 1)(c)

    return make


def _generate(c: Call) -> Expr:
    return Generate(c.size(0, 1), c.lam(1, INT))


# ---- views


def _zip(c: Call) -> Expr:
    arrays = [c.array(i) for i in range(len(c.args))]
    first = arrays[0][1]
    for i, (_, t) in enumerate(arrays):
        if not equal(Array(FLOAT, t.size), Array(FLOAT, first.size)):
            raise c.wrong(
                i,
                "zip needs arrays of equal size, found "
                f"{show_size(t.size)} after {show_size(first.size)}",
            )
    return Zip(tuple(xs for xs, _ in arrays))


def _split(c: Call) -> Expr:
    xs, t = c.array(1)
    m = c.size(0, 1)
    c.divides(0, m, t.size)
    return Split(m, xs)


def _slide(strict: bool) -> Callable[[Call], Expr]:
    def make(c: Call) -> Expr:
        xs, t = c.array(2)
        size, step, n = c.size(0, 1), c.size(1, 1), t.size
        if isinstance(size, int) and isinstance(n, int):
            if size > n:
                raise c.wrong(0, f"a window of {size} is larger than the array of {n}")
            if strict and isinstance(step, int) and (n - size) % step:
                raise c.wrong(1, f"steps of {step} do not divide the {n - size} that windows move")
        return Slide(size, step, xs, strict)

    return make


def _pad(c: Call) -> Expr:
    xs, t = c.array(3)
    left, right = _amounts(c, t)
    value = c.value(2)
    scalar = only_scalar(t.elem)
    fill = cast(value, t.elem) or (cast(value, scalar) if scalar is not None else None)
    if fill is None:
        raise c.wrong(2, f"{show_type(type_of(value))} cannot fill an array of {show_type(t.elem)}")
    return Pad(left, right, fill, xs)


def _pad_edge(edge: Edge) -> Callable[[Call], Expr]:
    def make(c: Call) -> Expr:
        xs, t = c.array(2)
        left, right = _amounts(c, t)
        return PadEdge(edge, left, right, xs)

    return make


def _amounts(c: Call, t: Array) -> tuple[Size, Size]:
    """The amounts (left, right) by which a call pads an array of type t; a UserError if a crop
    leaves no element."""
    left, right = c.size(0), c.size(1)
    for i, amount in enumerate((left, right)):
        if _both(amount, t.size, lambda a, n: -a >= n):
            raise c.wrong(i, f"a crop of {-amount} leaves nothing of {show_size(t.size)}")
    if _both(left + right, t.size, lambda a, n: a + n < 1):
        raise c.wrong(
            1, f"a crop of {-(left + right)} in all leaves nothing of {show_size(t.size)}"
        )
    return left, right


def _both(a: Size, b: Size, holds: Callable[[int, int], bool]) -> bool:
    return isinstance(a, int) and isinstance(b, int) and holds(a, b)


def _reorder(c: Call) -> Expr:
    xs, t = c.array(1)
    s = c.elaborator.stride_of(c.args[0])
    if s is not None:
        c.divides(0, s, t.size)
        return Reorder(stride(s, t.size), xs)
    f = c.lam(0, INT)
    if type_of(f.body) != INT:
        raise c.wrong(
            0, f"expected a function int -> int, found int -> {show_type(type_of(f.body))}"
        )
    if isinstance(t.size, int):
        c.elaborator.step(c.span, t.size // 500)
    try:
        check_bijection(f, t.size)
    except IllTyped as error:
        raise c.wrong(0, str(error)) from None
    except Unsupported as error:
        raise Unsupported(f"{caret(place(c.args[0]))}\n{error}") from None
    return Reorder(f, xs)


def _stride(c: Call) -> Expr:
    raise UserError("stride(s) is an index function: expected it in reorder(stride(s), xs)", c.span)


def _concat(c: Call) -> Expr:
    whole, first = c.array(0)
    for i in range(1, len(c.args)):
        xs, t = c.array(i)
        if not equal(t.elem, first.elem):
            raise c.wrong(
                i, f"concat needs elements {show_type(first.elem)}, found {show_type(t.elem)}"
            )
        whole = Concat(whole, xs)
    return whole


def _at(c: Call) -> Expr:
    xs, t = c.array(1)
    k = c.size(0)
    if isinstance(k, int) and (k < 0 or (isinstance(t.size, int) and k >= t.size)):
        raise c.wrong(0, f"no element {k} in an array of {show_size(t.size)}")
    return At(k, xs)


def _flatten(c: Call) -> Expr:
    xs, t = c.array(0)
    while isinstance(t.elem, Array):
        xs = Join(xs)
        inner = type_of(xs)
        assert isinstance(inner, Array)
        t = inner
    return xs


def _as_vector(c: Call) -> Expr:
    xs, t = c.array(1)
    width = c.size(0, 1)
    c.divides(0, width, t.size)
    return AsVector(width, xs)


# ---- instructions


def _instruct(entry: Called) -> Primitive:
    names = [v.name for v in variables(entry.program.pattern)]

    def make(c: Call) -> Expr:
        parts = tuple(c.value(i) for i in range(len(names)))
        held = variables(entry.instruction.meaning.pattern)  # made when it is first called
        for i, (part, operand) in enumerate(zip(parts, held, strict=True)):
            if not equal(type_of(part), operand.type):
                expected, found = show_type(operand.type), show_type(type_of(part))
                raise c.wrong(i, f"{entry.name} takes {expected} here, found {found}")
        return Instruct(entry.instruction, parts)

    return Primitive(f"{entry.name}({', '.join(names)})", len(names), len(names), make)


# ---- numbers


def _conversion(op: str) -> Callable[[Call], Expr]:
    return lambda c: Unary(op, c.elaborator.number(op, c.args[0], c.env))


def _real(c: Call) -> Expr:
    """The argument of the call as a real number: as it is, or a whole one as a float."""
    x = c.elaborator.number("real", c.args[0], c.env)
    return (cast(x, FLOAT) or Unary("float", x)) if is_whole(type_of(x)) else x


def _unary(op: str) -> Callable[[Call], Expr]:
    def make(c: Call) -> Expr:
        x = c.elaborator.number(op, c.args[0], c.env)
        if op in REAL_ONLY and isinstance(x, Lit):
            x = cast(x, FLOAT) or x
        return Unary(op, x)

    return make


def _binary(op: str) -> Callable[[Call], Expr]:
    return lambda c: c.elaborator.binary(op, c.args[0], c.args[1], c.env)


def _select(c: Call) -> Expr:
    condition, a, b = c.args
    return c.elaborator.select(condition, a, b, c.env)


def _values(node: Callable[[Expr], Expr]) -> Callable[[Call], Expr]:
    return lambda c: node(c.value(0))


def _to_local(ahead: int, in_flight: bool) -> Primitive:
    def local(e: Expr) -> ToLocal:
        return ToLocal(e, ahead, in_flight)

    return Primitive(f"{to_local_word(ahead, in_flight)}(e)", 1, 1, _values(local))


def _loops(word: str, unrolled: bool) -> dict[str, Primitive]:
    def loop(f: Lam, xs: Expr) -> Expr:
        return MapSeq(f, xs, unrolled)

    return {
        f"{word}mapSeq": Primitive(f"{word}mapSeq(f, xs)", 2, 2, _map(loop)),
        f"{word}reduceSeq": _fold(f"{word}reduceSeq", unrolled, False),
    }


def _fold(word: str, unrolled: bool, ahead: bool) -> Primitive:
    def fold(init: Expr, f: Lam, xs: Expr) -> Expr:
        return ReduceSeq(init, f, xs, unrolled, ahead)

    return Primitive(f"{word}(init, f, xs)", 3, 3, reduction(fold))


PRIMITIVES: Mapping[str, Primitive] = {
    "map": Primitive("map(f, xs)", 2, 2, _map(Map)),
    "reduce": Primitive("reduce(init, f, xs)", 3, 3, reduction(Reduce)),
    "generate": Primitive("generate(n, i -> e)", 2, 2, _generate),
    "zip": Primitive("zip(xs, ys, …)", 2, 100, _zip),
    "split": Primitive("split(m, xs)", 2, 2, _split),
    "join": Primitive("join(xs)", 1, 1, lambda c: Join(c.nested(0)[0])),
    "slide": Primitive("slide(size, step, xs)", 3, 3, _slide(False)),
    "slide_strict": Primitive("slide_strict(size, step, xs)", 3, 3, _slide(True)),
    "pad": Primitive("pad(left, right, value, xs)", 4, 4, _pad),
    "pad_clamp": Primitive("pad_clamp(left, right, xs)", 3, 3, _pad_edge(Edge.CLAMP)),
    "pad_mirror": Primitive("pad_mirror(left, right, xs)", 3, 3, _pad_edge(Edge.MIRROR)),
    "pad_wrap": Primitive("pad_wrap(left, right, xs)", 3, 3, _pad_edge(Edge.WRAP)),
    "pad_any": Primitive("pad_any(left, right, xs)", 3, 3, _pad_edge(Edge.ANY)),
    "transpose": Primitive("transpose(xs)", 1, 1, lambda c: Transpose(c.nested(0)[0])),
    "reorder": Primitive("reorder(f, xs)", 2, 2, _reorder),
    "stride": Primitive("stride(s)", 2, 2, _stride),
    "concat": Primitive("concat(xs, ys)", 2, 100, _concat),
    "at": Primitive("at(k, xs)", 2, 2, _at),
    "flatten": Primitive("flatten(xs)", 1, 1, _flatten),
    "size": Primitive("size(n)", 1, 1, lambda c: SizeOf(c.size(0))),
    "asVector": Primitive("asVector(n, xs)", 2, 2, _as_vector),
    "asScalar": Primitive("asScalar(xs)", 1, 1, lambda c: AsScalar(c.array(0)[0])),
    "store": Primitive("store(e)", 1, 1, _values(Store)),
    **{
        to_local_word(ahead, in_flight): _to_local(ahead, in_flight)
        for ahead, in_flight in product(range(len(AHEAD)), (False, True))
        if ahead < 2 or in_flight
    },
    "toPrivate": Primitive("toPrivate(e)", 1, 1, _values(ToPrivate)),
    **{
        level.value: Primitive(f"{level.value}(dim)(f, xs)", 3, 3, _parallel(level))
        for level in Level
    },
    **{name: _instruct(entry) for name, entry in CALLED.items()},
    **_loops("", False),
    **_loops("unrolled ", True),
    "reduceSeqStepAhead": _fold("reduceSeqStepAhead", False, True),
    **{op: Primitive(f"{op}(x)", 1, 1, _unary(op)) for op in sorted({*REAL_ONLY, "abs"})},
    **{op: Primitive(f"{op}(x)", 1, 1, _conversion(op)) for op in CONVERSIONS},
    "real": Primitive("real(x)", 1, 1, _real),
    **{op: Primitive(f"{op}(a, b)", 2, 2, _binary(op)) for op in ("max", "min")},
    "select": Primitive("select(condition, a, b)", 3, 3, _select),
}
