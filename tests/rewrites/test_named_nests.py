"""Tests of nests whose maps and dimensions have labels: moves on maps, and on the dimensions of
arrays, by label."""

from itertools import permutations

import pytest

from ir.core.nodes import Map
from ir.core.size import named
from ir.core.type_rules import size_of
from ir.parse import parse
from ir.text.show import show
from rewrites.engine.derivation import Derivation
from rewrites.laws.lower import copy_deep
from rewrites.nest.labels import Label, brought, labels
from rewrites.nest.named_nest import Nest, arranged, standing
from rewrites.nest.named_views import reordered
from rewrites.nest.spine import nest

PRODUCT = parse("p(a : [[float]3]4, b : [[float]3]5) = map(x -> map(y -> dot(x, y), b), a)").body
CUBE = parse("p(a : [[[float]4]3]2) = a").body


def lengths(done: Nest) -> list[object]:
    """The lengths of the maps of a matrix product's nest, the outermost first, after the strategy
    `done` has rewritten it; its steps are replayed, too."""
    made = done(PRODUCT)
    assert made is not None
    assert Derivation(PRODUCT, made[1]).replay() == made[0]
    return [size_of(m.xs) for m in nest(made[0])]


def test_labels_say_where_dimensions_stand() -> None:
    dims = labels("rows", columns=2, parts=0, items=1)
    assert dims.positions("items", "columns") == (3, 1, 2)
    assert dims.present == ("rows", "columns", "items")
    assert dims.ordered("parts", "items", "columns", "rows").positions("rows") == (3,)
    assert dims.joined(("columns", "parts"), Label("all", 1)).names == ("rows", "all", "items")


def test_names_that_are_not_there_are_told() -> None:
    dims = labels("rows", "columns")
    with pytest.raises(ValueError, match="expected one of rows, columns, found colums"):
        dims.first("colums")
    with pytest.raises(ValueError, match="in some order"):
        dims.ordered("rows")
    with pytest.raises(ValueError, match="expected neighbours"):
        dims.joined(("columns", "rows"), Label("all"))
    with pytest.raises(ValueError, match="expected the innermost"):
        dims.without("rows")
    with pytest.raises(ValueError, match="each name once"):
        dims.replaced("rows", Label("columns"))


def test_exchanges_bring_each_dimension_to_its_place() -> None:
    for order in permutations(range(4)):
        stands = [*range(4)]
        for n in brought(order):
            stands[n : n + 2] = reversed(stands[n : n + 2])
        assert stands == [*order]


def test_maps_are_ordered_tiled_and_merged_by_name() -> None:
    rows = standing("rows", "columns")
    assert lengths(rows.order("columns", "rows")) == [5, 4]
    assert lengths(arranged(columns=(1,), rows=(0,))) == [5, 4]
    assert lengths(rows.merge("all", "rows", "columns")) == [20]
    assert lengths(rows.tile("columns", 2, "tiles", "columns").exchange("rows", "tiles")) == [
        3,
        4,
        2,
    ]
    assert lengths(rows.split("rows", 2, "pairs", "rows").at_most(2, "pairs", "rows")) == [2, 2, 5]
    assert lengths(rows.into_sum("columns")) == [4]


def test_a_name_of_no_map_is_moved_without_a_step() -> None:
    some = standing("rows", none=0, columns=1)
    moved = some.tile("none", 2, "tiles", "none").merge("none").exchange("none", "columns")
    assert moved.labels.positions("columns") == (1,)
    assert moved(PRODUCT) == (PRODUCT, ())


def test_moves_are_stages_of_the_derivation() -> None:
    done = standing("rows", "columns").tile("columns", named("k"), "tiles", "columns")
    made = done.into_sum("columns")(PRODUCT)
    assert made is not None
    found = [(n, n + s.steps, s.name) for n, step in enumerate(made[1]) for s in step.stages]
    assert [name for _, _, name in found] == ["tile k columns", "columns inside the sum"]
    assert found[0][1] == found[1][0]
    assert found[1][1] == len(made[1])


def test_dimensions_of_an_array_are_reordered_by_name() -> None:
    done = reordered(labels("a", "b", "c"), ("c", "a", "b"), copy_deep())(CUBE)
    assert done is not None
    copies = [step.term for step in done[1] if step.rule == copy_deep]
    assert [size_of(e) for e in copies if isinstance(e, Map)] == [4]
    assert "transpose" in show(done[0])
