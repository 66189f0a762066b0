"""Builders of values: they find the kind (type and width) that operands have in common, convert and
broadcast values to it, and put vectors together from lanes."""

# key: e value, w width, i index

from dataclasses import replace

from codegen.index.condition import Condition, both, substitute_in
from codegen.index.index import Index, constant, var
from codegen.index.substitute import coefficient, substitute
from codegen.tree.kernel_values import (
    Apply,
    Broadcast,
    Build,
    Convert,
    Kind,
    Lane,
    Load,
    Number,
    Select,
    Value,
    Whole,
    kind_of,
    operands,
    rewrite,
    subvalues,
)
from codegen.tree.memories import Space
from ir.core.conversions import Conversion
from ir.core.type_rules import COMPARISONS
from ir.core.types import RANGES

RANK = ("int", "long", "half", "bfloat", "float")


def is_whole(kind: Kind) -> bool:
    """True for kinds of whole numbers."""
    return kind.scalar in RANGES


def binary(op: str, a: Value, b: Value) -> Value:
    """The value a op b in the kind that both fit; a product that is added becomes an fma."""
    x, y = kind_of(a), kind_of(b)
    kind = Kind(_joined(op, x, y), max(x.width, y.width))
    if op in COMPARISONS:
        return Apply(op, (fitted(a, kind), fitted(b, kind)), Kind("int", kind.width))
    return _sum(fitted(a, kind), fitted(b, kind), kind) if op == "+" else _plain(op, a, b, kind)


def chosen(c: Value, a: Value, b: Value) -> Value:
    """The value of a where the int c is not 0, and of b elsewhere, lane by lane; a and b are
    converted to a kind that holds both."""
    test, x, y = kind_of(c), kind_of(a), kind_of(b)
    w = max(test.width, x.width, y.width)
    kind = Kind(_joined("max", x, y), w)
    return Apply("select", (fitted(c, Kind("int", w)), fitted(a, kind), fitted(b, kind)), kind)


def _joined(op: str, x: Kind, y: Kind) -> str:
    """The scalar type that a op b is computed in; whole numbers are computed as ints (or longs),
    except by max and min, which only choose."""
    if op in ("max", "min") and x.scalar == y.scalar:
        return x.scalar
    return max(computed(x), computed(y), key=RANK.index)


def computed(kind: Kind) -> str:
    """The scalar that numbers of a kind are computed as: narrow whole numbers are ints."""
    return "int" if is_whole(kind) and kind.scalar != "long" else kind.scalar


def _plain(op: str, a: Value, b: Value, kind: Kind) -> Value:
    return Apply(op, (fitted(a, kind), fitted(b, kind)), kind)


def _sum(a: Value, b: Value, kind: Kind) -> Value:
    """The value a + b, as fma(b, c, a) where b is a product of floats."""
    if not is_whole(kind):
        for product, rest in ((b, a), (a, b)):
            if isinstance(product, Apply) and product.op == "*":
                return Apply("fma", (*product.arguments, rest), kind)
    return Apply("+", (a, b), kind)


def unary(op: str, e: Value) -> Value:
    """The value op e, of the kind of e, or int if e is of narrow whole numbers."""
    kind = kind_of(e)
    wide = Kind(computed(kind), kind.width)
    return Apply(op, (fitted(e, wide),), wide)


def conversion(e: Value, to: Conversion) -> Value:
    """The value e converted as `to` says: to its type, with its rounding. Between whole numbers and
    halves or bfloats it goes through a float."""
    have = kind_of(e)
    kind, wide = Kind(to.target.name, have.width), Kind("float", have.width)
    if have == kind:
        return e
    usual = to.rounding == ("rtz" if is_whole(kind) else "rte")
    if is_whole(kind) != is_whole(have) and "float" not in (kind.scalar, have.scalar):
        rounding = "" if usual or is_whole(kind) else to.rounding
        return conversion(Convert(e, wide, rounding), to)
    if usual and not to.saturates and not is_whole(kind):
        return _converted(e, kind)
    return Convert(e, kind, "" if usual else to.rounding, to.saturates)


def fitted(e: Value, kind: Kind) -> Value:
    """The value e, converted to the scalar type of `kind`, and broadcast if `kind` is a vector and
    e is not."""
    have = kind_of(e)
    if have.scalar != kind.scalar:
        e = _converted(e, Kind(kind.scalar, have.width))
    return e if have.width == kind.width else Broadcast(e, kind)


def _converted(e: Value, kind: Kind) -> Value:
    match e:
        case Number(value, _) if not is_whole(kind):
            return Number(float(value), kind.scalar)
        case Whole(i) if i.is_constant and kind.scalar == "long":
            return Number(i.constant, "long")
        case Whole(i) if i.is_constant and not is_whole(kind):
            return Number(float(i.constant), kind.scalar)
        case Broadcast(inner, _):
            return Broadcast(_converted(inner, Kind(kind.scalar)), kind)
    return Convert(e, kind)


def select(condition: Condition, a: Value, b: Value) -> Value:
    """The value that is a where the condition holds and b elsewhere; a choice in a is joined with
    it if it can be: c ? (d ? a : b) : b = c && d ? a : b."""
    match a:
        case Select(inner, c, d) if d == b:
            return Select(both(condition, inner), c, b)
    return Select(condition, a, b)


# ---- indices inside values


def names_in(e: Value) -> frozenset[str]:
    """The index variables that a value depends on."""
    return frozenset[str]().union(*(_own_names(inner) for inner in subvalues(e)))


def _own_names(e: Value) -> frozenset[str]:
    match e:
        case Load(_, i, _, half):
            return i.names if half is None else i.names | half.names
        case Whole(i):
            return i.names
        case Select(condition, _, _):
            return condition.names
    return frozenset()


def substituted(e: Value, values: dict[str, Index | int]) -> Value:
    """The value e, with each index variable that `values` names replaced by its value there."""

    def place(inner: Value) -> Value:
        match inner:
            case Load(memory, i, w, half):
                new = None if half is None else substitute(half, values)
                return Load(memory, substitute(i, values), w, new)
            case Whole(i):
                return Whole(substitute(i, values))
            case Select(condition, a, b):
                return Select(substitute_in(condition, values), a, b)
        return inner

    return rewrite(e, place)


# ---- vectors and lanes


def lane_variable(name: str, w: int) -> Index:
    """The index that is the variable `name`: it stands for the lane, 0 … w − 1, of a vector of w
    lanes while that vector is formed."""
    return var(name, 0, w - 1)


def vectorised(e: Value, lane: str, w: int) -> Value:
    """The vector of w lanes whose lane l is e with `lane` = l."""
    kind = Kind(kind_of(e).scalar, w)
    if lane not in names_in(e):
        return Broadcast(e, kind)
    match e:
        case Load(memory, i, 1, half) if (start := contiguous(i, lane, w)) is not None:
            return Load(memory, start, w, half)
        case Apply(op, arguments, _):
            return Apply(op, tuple([vectorised(a, lane, w) for a in arguments]), kind)
        case Convert(inner, _):
            return replace(e, e=vectorised(inner, lane, w), kind=kind)
        case Select(condition, a, b) if lane not in condition.names:
            return Select(condition, vectorised(a, lane, w), vectorised(b, lane, w))
        case Select(condition, a, b) if (one := uniform(condition, lane, w)) is not None:
            return Select(one, vectorised(a, lane, w), vectorised(b, lane, w))
    return Build(tuple([substituted(e, {lane: l}) for l in range(w)]), kind)


def in_pieces(e: Value) -> Value:
    """The vector e; if it is made of scalars of local memory, pairs of which lie together there at
    even places, it is made of vectors of two instead."""
    if not isinstance(e, Build) or len(e.parts) % 2:
        return e
    pairs = [_pair(a, b) for a, b in zip(e.parts[::2], e.parts[1::2], strict=True)]
    found = tuple([pair for pair in pairs if pair is not None])
    return Build(found, e.kind) if len(found) == len(pairs) else e


def _pair(a: Value, b: Value) -> Value | None:
    """The vector of the scalars a and b, if they lie so in local memory; else None."""
    match a, b:
        case Load(m, i, 1, half), Load(n, j, 1, other) if m is n and m.space is Space.LOCAL:
            even = i.constant % 2 == 0 and all(k % 2 == 0 for _, k in i.terms)
            if half == other and even and j - i == constant(1):
                return Load(m, i, 2, half)
    return None


def contiguous(i: Index, lane: str, w: int) -> Index | None:
    """The index i where `lane` is 0, if for every lane l of w the index is proved to be l more;
    else None."""
    start = substitute(i, {lane: 0})
    if coefficient(i, lane) == 1:
        return start
    if any(substitute(i, {lane: l}) - start != constant(l) for l in range(1, w)):
        return None
    return start


def uniform(condition: Condition, lane: str, w: int) -> Condition | None:
    """The condition rewritten without the variable `lane`, if it says the same for each of the w
    lanes; else None."""
    first = substitute_in(condition, {lane: 0})
    same = all(substitute_in(condition, {lane: l}) == first for l in range(1, w))
    return first if same else None


def lane_of(e: Value, lane: Index) -> Value | None:
    """The scalar in lane `lane` of the vector e; None if the lane is not a number and e is not in
    memory."""
    kind = Kind(kind_of(e).scalar)
    match e:
        case Load(memory, i, _, half):
            return Load(memory, i + lane, 1, half)
        case Broadcast(inner, _):
            return inner
        case Build(parts, _) if lane.is_constant:
            return parts[lane.constant]
    if isinstance(e, Apply | Convert | Select):
        lanes = [lane_of(part, lane) for part in operands(e)]
        found = tuple([part for part in lanes if part is not None])
        if len(found) == len(lanes):
            return _of_kind(e, found, kind)
    return Lane(e, lane.constant) if lane.is_constant else None


def lanes_of(e: Value, first: int, w: int) -> Value:
    """The vector of w lanes of the vector e, from the lane `first` on."""
    kind = Kind(kind_of(e).scalar, w)
    match e:
        case Load(memory, i, _, half):
            return Load(memory, i + first, w, half)
        case Broadcast(inner, _):
            return Broadcast(inner, kind)
        case Build(parts, _):
            return Build(parts[first : first + w], kind)
        case Apply() | Convert() | Select():
            return _of_kind(e, tuple([lanes_of(part, first, w) for part in operands(e)]), kind)
    return Build(tuple([Lane(e, first + l) for l in range(w)]), kind)


def _of_kind(e: Apply | Convert | Select, parts: tuple[Value, ...], kind: Kind) -> Value:
    match e:
        case Apply(op, _, _):
            return Apply(op, parts, kind)
        case Convert():
            return replace(e, e=parts[0], kind=kind)
        case Select(condition, _, _):
            return Select(condition, parts[0], parts[1])
