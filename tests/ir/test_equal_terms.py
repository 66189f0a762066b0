"""Tests that equal terms are one object, and that different terms never are."""

from functools import partial
from pathlib import Path

import pytest

from ir.core.bind_parameters import bind_sizes
from ir.core.nodes import Expr, Lit, MakeTuple, Map, MapSeq, Var
from ir.core.term_fields import with_terms
from ir.core.terms import children, identity, lam, shared, subterms
from ir.core.types import FLOAT, INT, Array
from ir.parse import parse_file
from ir.text.show import show
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Strategy
from rewrites.engine.strategy import everywhere
from rewrites.families.all_families import first
from rewrites.laws.maps import split_map
from rewrites.nest.normal_form import simplify
from rewrites.storing.stored_views import Choices, Windows, prepare
from rewrites.tuning.family import parameter_names
from tests.support.families import LOWERING

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.lift"))
XS = Var("xs", Array(FLOAT, 12))


def doubled(xs: Expr) -> Map:
    return Map(lam("x", FLOAT, lambda x: x), xs)


def written_inside(e: Expr) -> list[Expr]:
    """The terms directly inside a node, found by going through its fields."""
    names: tuple[str, ...] = vars(type(e))["__match_args__"]
    values = [getattr(e, name) for name in names if name != "pattern"]
    every = [v for value in values for v in (value if isinstance(value, tuple) else (value,))]
    return [v for v in every if isinstance(v, Expr)]


@pytest.mark.parametrize("family", LOWERING)
def test_the_terms_inside_a_node_are_those_that_it_is_made_of(family: str) -> None:
    program = parse_file(EXAMPLES[0].with_name("quickstart.lift"))
    for e in {*subterms(program.body), *subterms(first(program, family).program.body)}:
        assert [*children(e)] == written_inside(e)
        assert with_terms(e, children(e)) == e


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda f: f.stem)
def test_a_node_with_other_terms_inside_has_these(file: Path) -> None:
    for e in set(subterms(parse_file(file).body)):
        other = tuple(Var(f"x{i}", FLOAT) for i in range(len(children(e))))
        made = with_terms(e, other)
        assert written_inside(made) == [*other]
        assert type(made) is type(e)


def after(s: Strategy) -> Expr:
    """The term that the strategy s makes of the term `doubled(XS)`, which is built anew at each
    call."""
    done = s(doubled(XS))
    assert done is not None
    return done[0]


def test_what_a_law_gives_twice_is_one_term() -> None:
    assert after(split_map(k=4)) is after(split_map(k=4))
    assert after(split_map(k=4)) is not after(split_map(k=3))


def test_a_normal_form_is_found_once_for_equal_terms() -> None:
    one, two = (simplify(after(everywhere(split_map(k=4)))) for _ in range(2))
    assert one is two


def test_a_strategy_made_of_equal_arguments_knows_what_it_made() -> None:
    program = parse_file(EXAMPLES[0].with_name("quickstart.lift"))
    one, two = (prepare(parameter_names(program), Choices(Windows.PADDED)) for _ in range(2))
    assert one is two
    assert one is not prepare(parameter_names(program), Choices(Windows.PADDED, room=True))
    assert one(program.body) is two(program.body)


def test_marks_of_variables_do_not_meet() -> None:
    """Two nested functions whose variables are made with the same name keep them apart."""
    pair = lam(
        "x", FLOAT, lambda x: MakeTuple((doubled(XS), lam("x", FLOAT, lambda y: MakeTuple((x, y)))))
    )
    assert show(pair) == "x1 -> (map(x -> x, xs), x -> (x1, x))"
    with pytest.raises(Refused):
        lam("x", FLOAT, refusing)
    assert lam("x", FLOAT, lambda x: x) == identity(FLOAT)


def constantly(e: Expr, x: Expr) -> Expr:
    return e


def refusing(x: Expr) -> Expr:
    raise Refused("no body")


def test_numbers_that_are_written_differently_are_different_terms() -> None:
    terms = [Lit(0.0, FLOAT), Lit(-0.0, FLOAT), Lit(1, INT), Lit(1.0, FLOAT), Lit(0, INT)]
    for e in terms:
        made = shared(Map(lam("x", FLOAT, partial(constantly, e)), XS))
        assert isinstance(made, Map)
        assert made.f.body == e
    assert all(a != b for a in terms for b in terms if a is not b)


def test_a_loop_that_is_marked_is_another_term() -> None:
    f = lam("x", FLOAT, lambda x: x)
    assert shared(MapSeq(f, XS, True)) != shared(MapSeq(f, XS, False))
    assert bind_sizes(shared(MapSeq(f, XS, True)), {}) == MapSeq(f, XS, True)
