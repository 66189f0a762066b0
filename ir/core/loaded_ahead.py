"""The tiles that a loop loads some iterations ahead: those of `toLocalAhead` and its like in lets
at the head of its body."""

# key: e term, p pattern

from ir.core.nodes import Expr, Lam, Let, Pattern, ToLocal, Var
from ir.core.terms import free, variables

Tile = tuple[Pattern, ToLocal]


def loaded_ahead(f: Lam) -> tuple[tuple[Tile, ...], Expr]:
    """The tiles of a reduction's function f that can be loaded iterations ahead, and the body of f
    without them."""
    if isinstance(f.pattern, Var):
        return (), f.body
    return _tiles(f.body, _names(f.pattern[0]))


def _tiles(e: Expr, hidden: frozenset[str]) -> tuple[tuple[Tile, ...], Expr]:
    """The tiles that the lets at the head of e load ahead, and e without those lets.

    `hidden` are the names whose values are not known one iteration before: the accumulator, and
    what lets compute. A tile that uses one of them is not loaded ahead.
    """
    match e:
        case Let(p, ToLocal(given, ahead) as tile, body) if ahead and not free(given) & hidden:
            tiles, rest = _tiles(body, hidden | _names(p))
            return ((p, tile), *tiles), rest
        case Let(p, value, body):
            tiles, rest = _tiles(body, hidden | _names(p))
            return tiles, Let(p, value, rest)
    return (), e


def at_once(e: Expr) -> Expr:
    """The term e with nothing loaded ahead in the lets at its head, for a loop of one iteration."""
    match e:
        case Let(p, ToLocal(given, ahead, in_flight), body) if ahead:
            return Let(p, ToLocal(given, 0, in_flight), at_once(body))
        case Let(p, value, body):
            return Let(p, value, at_once(body))
    return e


def _names(p: Pattern) -> frozenset[str]:
    return frozenset(v.name for v in variables(p))
