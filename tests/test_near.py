"""Candidates near a good one: new, legal, and no further than a step or two."""

from dataclasses import replace
from pathlib import Path

import pytest

from codegen.compile import generate
from constraints.devices import CPU
from constraints.terms import holds
from explore.agreement import disagreements
from explore.candidates import Candidates, gathered
from explore.lowering import bound, lowering
from explore.near import ladders, moves
from explore.options import Options
from explore.space import Derived, derive, tasks
from ir.parse import parse_file

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PROGRAM = parse_file(EXAMPLES / "vgg.lift", {"C": 8, "W": 14, "H": 14, "M": 16})


@pytest.fixture(scope="module")
def derived() -> list[Derived]:
    todo = tasks(PROGRAM, CPU, families=("registers", "blocked"), budget=100, seed=0)
    return [d for d in map(derive, todo) if isinstance(d, Derived)]


@pytest.fixture
def several(derived) -> Candidates:
    return gathered(derived, [])


def test_moves_are_steps_along_the_ladders():
    along = ladders([{"a": 1, "b": 2}, {"a": 4, "b": 8}, {"a": 16, "b": 2}])
    found = list(moves({"a": 4, "b": 2}, along))
    assert {"a": 1, "b": 2} in found  # one down
    assert {"a": 4, "b": 8} in found  # one up
    assert {"a": 1, "b": 8} in found  # one down, the other up
    assert {"a": 16, "b": 8} not in found
    assert len(found) == 4


def test_what_is_near_is_new_legal_and_of_the_family(several):
    for parent in range(0, len(several.variants), 9):
        before = len(several.variants)
        mine = several.variants[parent]
        more, memory = several.near([parent])
        assert memory == [float(m) for m in several.memory[before:]]
        for number, variant in enumerate(more, before):
            assert several.variants[number] is variant
            form = several.forms[several.form_of[number]]
            assert (form.family, form.name) == (variant.family, variant.form)
            assert variant.family == mine.family
            point = dict(variant.parameters)
            assert all(holds(c.relation, point) for c in form.system.constraints)
            changed = [n for n, v in mine.parameters if point.get(n) != v]
            assert len(changed) <= 2 if variant.form == mine.form else not changed
    assert len({v.id for v in several.variants}) == len(several.variants)


def test_what_is_near_compiles_to_what_was_inferred(several):
    more, _ = several.near(range(0, 60, 6))
    assert len(more) > 20
    for variant in more[::10]:
        low = lowering(PROGRAM, variant.family, variant.form)
        point = dict(variant.parameters)
        form = next(f for f in several.forms if (f.family, f.name) == (low.family, low.form))
        made = generate(bound(low.program, point), max_work_group=CPU.group_items)
        assert not list(disagreements(form.known, point, made))


def test_what_breaks_a_constraint_is_not_certified(several):
    assert all(several.certified(n) for n in range(0, len(several.variants), 7))
    variant = several.variants[0]
    wrong = tuple((p, v + 1000) for p, v in variant.parameters)
    several.variants[0] = replace(variant, parameters=wrong)
    assert not several.certified(0)


def test_a_search_goes_on_into_what_is_near(several):
    """Times that fall with the block: the best block is further than the sample goes."""
    search = several.search(Options(variants=100))
    sampled, tried = len(several.variants), []
    while len(tried) < 200 and (chosen := search.next_round()):
        for n in chosen:
            tried.append(n)
            search.tell(n, 1e6 / (1 + sum(v for _, v in several.variants[n].parameters)))
    assert max(tried) >= sampled
    assert len(tried) == len(set(tried))
