"""Tests of laws on terms written by hand, which random terms do not cover: to which a law applies,
and what it makes of them."""

# key: n size, s step, u tile size

import itertools

from ir.core.nodes import Expr, MakeTuple
from ir.core.terms import subterms
from ir.parse import parse
from ir.text.show import show
from rewrites.engine.rule import Argument, Rule, apply_rule
from rewrites.laws import lower, maps, slides


def term(params: str, body: str) -> Expr:
    return parse(f"test({params}) = {body}").body


def made(rule: Rule, e: Expr, **arguments: Argument) -> Expr | None:
    found = apply_rule(rule, arguments, e)
    return None if found is None else found[0]


def test_tile_slide_applies_to_all_windows_that_tiles_cover_and_to_no_others() -> None:
    """The law tile_slide applies to slide(n, s) with tiles of u elements, which step by u - n + s,
    if and only if each tile holds whole windows and the last tile ends where the array ends."""
    for n, s, u, room in itertools.product(range(1, 6), range(1, 5), range(1, 9), range(1, 15)):
        if n > room:
            continue
        e = term(f"xs : [float]{room}", f"slide({n}, {s}, xs)")
        tiles = n <= u <= room and (u - n) % s == 0 and (room - u) % (u - n + s) == 0
        assert (made(slides.tile_slide, e, u=u) is not None) == tiles, (n, s, u, room)


def test_fuse_maps_makes_no_tuple_that_is_taken_apart_at_once() -> None:
    inner = "map(y -> (y + 1.0, y * 2.0), xs)"
    for pattern, body in (("x", "x.0 + x.0 * x.1"), ("(p, q)", "p + p * q"), ("x", "x.1 - x.0")):
        e = made(maps.fuse_maps, term("xs : [float]4", f"map({pattern} -> {body}, {inner})"))
        assert e is not None
        assert not [s for s in subterms(e) if isinstance(s, MakeTuple)], show(e)


SHARED = "x : float, y : float, xs : [float]4"


def test_share_reaches_into_lets_and_functions_that_do_not_hide_the_term() -> None:
    for body, times in [
        ("let! z = -x\nz + x", 2),
        ("let! x = -x\nx + x", 1),  # what is let is outside of its own name
        ("let! y = -y\nlet! z = x\nz + x * y", 2),
        ("map(z -> x + z, xs)", 1),
        ("map(z -> (let! x = z\nx + z), map(z -> x * z, xs))", 1),
    ]:
        e = made(lower.share, term(SHARED, body), term=term(SHARED, "x"), name="same")
        assert e is not None, body
        assert show(e).count("same") == 1 + times, show(e)


def test_share_does_not_reach_what_another_name_hides() -> None:
    for body in ("map(x -> x + x, xs)", "let! x = y\nx + x", "map(y -> y + 1.0, xs)"):
        assert made(lower.share, term(SHARED, body), term=term(SHARED, "x")) is None
