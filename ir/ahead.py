"""What a loop loads one iteration ahead: `toLocalAhead` in the lets at the head of its body."""

# key: e term, p pattern

from ir.nodes import Expr, Lam, Let, Pattern, ToLocal, Var
from ir.terms import free, variables

Tile = tuple[Pattern, ToLocal]


def loaded_ahead(f: Lam) -> tuple[tuple[Tile, ...], Expr]:
    """The tiles of a reduction's function that need nothing of this iteration's, and its rest."""
    if isinstance(f.pattern, Var):
        return (), f.body
    hidden = {v.name for v in variables(f.pattern[0])}
    found: list[Tile] = []
    body = f.body
    while isinstance(body, Let) and _is_ahead(body.value, hidden):
        assert isinstance(body.value, ToLocal)
        found.append((body.pattern, body.value))
        hidden |= {v.name for v in variables(body.pattern)}
        body = body.body
    return tuple(found), body


def _is_ahead(e: Expr, hidden: set[str]) -> bool:
    return isinstance(e, ToLocal) and e.ahead and not free(e) & hidden
