"""The elaboration of reductions: the function and the start of each get types that agree."""

from collections.abc import Callable
from math import isinf

from ir.core.nodes import Expr, Lam, Lit
from ir.core.type_rules import type_of
from ir.core.types import (
    INT,
    LONG,
    Array,
    Tuple,
    Type,
    Vector,
    equal,
    is_whole,
    narrow_real,
    narrowed,
    only_scalar,
    show_type,
)
from ir.elaborate.environment import EACH
from ir.elaborate.literal_types import cast
from ir.elaborate.primitive_call import Call
from ir.errors import UserError


def reduction(node: Callable[[Expr, Lam, Expr], Expr]) -> Callable[[Call], Expr]:
    """The function that makes the term `node(init, f, xs)` of a call such as reduce(init, f, xs);
    an init that is a literal gets the type that f needs."""

    def make(c: Call) -> Expr:
        xs, t = c.array(2)
        init = c.value(0)
        start = type_of(init)
        narrow = narrow_real(t.elem)
        if narrow is not None and c.elaborator.is_weak(c.args[0]):
            f = _try(c, narrowed(start, narrow), t.elem)
            begun = cast(init, narrowed(start, narrow))
            if f is not None and begun is not None:
                return node(begun, f, xs)
        whole = _of_whole(c, init, t.elem)
        if whole is not None:
            return node(*whole, xs)
        f = _folding(c, start, t.elem)
        result = type_of(f.body)
        if equal(result, start):
            return node(init, f, xs)
        adapted = cast(init, result)
        if adapted is not None:
            f = c.lam(1, Tuple((result, t.elem)))
            if equal(type_of(f.body), result):
                return node(adapted, f, xs)
        raise c.wrong(
            1,
            f"this returns {show_type(result)}, but the reduction starts as {show_type(start)}",
        )

    return make


def _of_whole(c: Call, init: Expr, elem: Type) -> tuple[Expr, Lam] | None:
    """The start and the function of the reduction that c calls if it starts as `inf` or `-inf`, and
    folds whole numbers: it starts as the largest or least number of their type."""
    scalar = only_scalar(elem)
    infinite = isinstance(init, Lit) and isinf(init.value) and c.elaborator.is_weak(c.args[0])
    if not infinite or scalar is None or not is_whole(scalar):
        return None
    assert isinstance(init, Lit)
    for kind in dict.fromkeys((scalar, INT, LONG)):
        acc = Vector(kind, elem.width) if isinstance(elem, Vector) else kind
        f = _try(c, acc, elem)
        if f is not None:
            begun = cast(init, kind)
            assert begun is not None
            return begun, f
    return None


def _folding(c: Call, acc: Type, elem: Type) -> Lam:
    """The function of the reduction that c calls, for an accumulator of type `acc` and elements of
    type `elem`; a UserError if it does not fit them. If the elements are arrays, and it would fit
    their numbers, the UserError suggests `flatten`."""
    try:
        return c.lam(1, Tuple((acc, elem)))
    except UserError as error:
        explained = isinstance(error.__cause__, UserError)  # by a reduction inside this one
        if explained or equal(_numbers(elem), elem) or not _fits(c, acc, _numbers(elem)):
            raise
        hint = "`flatten` joins all dimensions of an array"
        said = error.message.removesuffix(EACH)
        raise UserError(f"{said}; {hint}", error.span) from error


def _numbers(t: Type) -> Type:
    """The type t with each array replaced by the type of its innermost elements."""
    match t:
        case Array(elem, _):
            return _numbers(elem)
        case Tuple(parts):
            return Tuple(tuple(map(_numbers, parts)))
    return t


def _fits(c: Call, acc: Type, elem: Type) -> bool:
    """True if the function of the reduction that c calls can take an accumulator of type `acc` and
    an element of type `elem`."""
    try:
        c.lam(1, Tuple((acc, elem)))
    except UserError:
        return False
    return True


def _try(c: Call, acc: Type, elem: Type) -> Lam | None:
    try:
        f = c.lam(1, Tuple((acc, elem)))
    except UserError:
        return None
    return f if equal(type_of(f.body), acc) else None
