"""Tests of the candidates near a good one: they are new and legal, and differ by a step or two of a
parameter, or by a trait."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from codegen.compile import generate
from constraints.devices import CPU
from constraints.relations.relations import holds
from explore.building.promise_check import disagreements
from explore.options.options import Options
from explore.run.candidates import Candidates, candidates, gathered, tasks_for
from explore.search.search import run
from explore.space.derivations import Here
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import Derive, others, tasks
from explore.space.lowering import bound, lowering
from explore.space.neighbours import allowed, ladders, moves
from ir.parse import parse_file
from rewrites.families.all_families import form_named, forms
from rewrites.tuning.family import Form, one_trait_apart

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAM = parse_file(EXAMPLES / "vgg.lift", {"C": 8, "W": 14, "H": 14, "M": 16})


@pytest.fixture(scope="module")
def derived() -> list[Derived]:
    todo = tasks(PROGRAM, CPU, families=("registers", "blocked"), budget=100, seed=0)
    return [d for d in map(derive, todo) if isinstance(d, Derived)]


@pytest.fixture
def several(derived: list[Derived]) -> Candidates:
    return gathered(derived)


def test_moves_are_steps_along_the_ladders() -> None:
    along = ladders([{"a": 1, "b": 2}, {"a": 4, "b": 8}, {"a": 16, "b": 2}])
    found = list(moves({"a": 4, "b": 2}, along))
    assert {"a": 1, "b": 2} in found  # one down
    assert {"a": 4, "b": 8} in found  # one up
    assert {"a": 1, "b": 8} in found  # one down, the other up
    assert {"a": 16, "b": 8} not in found
    assert len(found) == 4


def test_what_is_near_is_new_legal_and_of_the_family(several: Candidates) -> None:
    for parent in range(0, len(several.variants), 9):
        before = len(several.variants)
        mine = several.variants[parent]
        more = several.near([parent], [])
        assert more.memory == [float(m) for m in several.memory[before:]]
        for number, variant in enumerate(more.variants, before):
            assert several.variants[number] is variant
            form = several.forms[several.form_of[number]].lowered
            assert named(form.form) == (variant.family, variant.form)
            assert variant.family == mine.family
            point = dict(variant.parameters)
            assert all(holds(c.relation, point) for c in form.system.constraints)
            changed = [n for n, v in mine.parameters if point.get(n) != v]
            assert len(changed) <= 2 if variant.form == mine.form else not changed
    assert len({v.id for v in several.variants}) == len(several.variants)


def test_what_is_near_compiles_to_what_was_inferred(several: Candidates) -> None:
    more = several.near(range(0, 60, 6), []).variants
    assert len(more) > 20
    for variant in more[::10]:
        low = lowering(PROGRAM, variant.family, variant.form)
        point = dict(variant.parameters)
        every = (taken.lowered for taken in several.forms)
        form = next(f for f in every if named(f.form) == (low.family, low.form))
        made = generate(bound(low.program, point), max_work_group=CPU.group_items)
        assert not list(disagreements(form.quantities, point, made))


def test_what_breaks_a_constraint_is_not_certified(several: Candidates) -> None:
    assert all(several.certified(n) for n in range(0, len(several.variants), 7))
    variant = several.variants[0]
    wrong = tuple((p, v + 1000) for p, v in variant.parameters)
    several.variants[0] = replace(variant, parameters=wrong)
    assert not several.certified(0)


def test_a_search_goes_on_into_what_is_near(several: Candidates) -> None:
    """Where larger blocks are faster, a search tries variants beyond those sampled at first, and
    none twice."""
    search = several.search(Options(variants=100))
    sampled, tried = len(several.variants), list[int]()
    while len(tried) < 200 and (chosen := search.next_round()):
        for n in chosen:
            tried.append(n)
            search.tell(n, 1e6 / (1 + sum(v for _, v in several.variants[n].parameters)))
    assert max(tried) >= sampled
    assert len(tried) == len(set(tried))


# ---- forms


def growing(todo: Sequence[Derive] = ()) -> Candidates:
    """The candidates of the forms that the tasks `todo` derive; if there are no tasks, those of a
    few forms of `registers` and `blocked`. Other forms are derived when a search asks for them."""
    todo = todo or tasks(PROGRAM, CPU, families=("registers", "blocked"), budget=100, seed=0)
    return gathered([d for d in map(derive, todo) if isinstance(d, Derived)], others(todo))


def forms_of(several: Candidates) -> list[tuple[str, str]]:
    return [named(taken.lowered.form) for taken in several.forms]


def named(form: Form) -> tuple[str, str]:
    return form.family, form.name


def all_forms(*families: str) -> list[tuple[str, str]]:
    return [named(form) for family in families for form in forms(PROGRAM, family)]


def apart(name: str, other: str) -> bool:
    return one_trait_apart(*(form_named(PROGRAM, "registers", n) for n in (name, other)))


def test_forms_are_a_trait_apart_with_one_more_one_less_or_another() -> None:
    assert apart("relaid", "relaid tall")
    assert apart("padded relaid", "relaid")
    assert apart("padded room tall", "planes room tall")
    assert not apart("relaid", "relaid")
    assert not apart("padded", "planes tall")
    assert not apart("", "relaid tall")


def test_what_is_not_derived_waits_in_the_order_in_which_it_would_be_drawn() -> None:
    todo = tasks(PROGRAM, CPU, families=("registers", "lift"), budget=100, seed=3)
    more = tasks(PROGRAM, CPU, families=("registers", "lift"), budget=1600, seed=3)
    waiting, known = others(todo), {named(t.form) for t in todo}
    found = [named(t.form) for t in (*todo, *waiting)]
    assert sorted(found) == sorted(all_forms("registers", "lift"))
    for family in ("registers", "lift"):
        every = [named(t.form) for t in more if t.form.family == family]
        drawn = [name for name in every if name not in known]
        assert drawn
        mine = [named(t.form) for t in waiting if t.form.family == family]
        assert mine[: len(drawn)] == drawn


def test_forms_a_trait_apart_from_the_best_of_each_family_are_derived() -> None:
    several = growing()
    before, first = forms_of(several), {v.family: n for n, v in enumerate(several.variants)}
    good = sorted(first.values())
    several.near([], good)
    assert forms_of(several) == before  # they join in the next round
    more = several.near([], []).variants
    new = forms_of(several)[len(before) :]
    assert {family for family, _ in new} == {"registers", "blocked"}
    for family, name in new:
        best = form_named(PROGRAM, family, several.variants[first[family]].form)
        assert one_trait_apart(form_named(PROGRAM, family, name), best)
        assert any((v.family, v.form) == (family, name) for v in more)
    assert not set(new) & set(before)
    assert not set(new) & set(several.others)


def test_the_best_point_is_tried_in_a_form_that_was_derived_for_it() -> None:
    """If a form is derived because a variant was good, the point of that variant is tried in the
    new form, too, unless the form's constraints forbid it."""
    several = growing()
    moved = 0
    for number in range(0, len(several.variants), 12):
        before, point = len(several.forms), dict(several.variants[number].parameters)
        for _ in range(2):
            several.near([], [number])
        for n in range(before, len(several.forms)):
            if allowed(several.forms[n].lowered.system, point):
                assert several.forms[n].lowered.variant(point, {}).id in several.ids
                moved += 1
    assert moved > 3


def test_every_form_is_derived_once_at_most_and_all_if_asked_for_long() -> None:
    several = growing(plain("io-optimal"))
    for _ in range(40):
        several.near([], range(len(several.variants)))
    derived = forms_of(several)
    assert len(derived) == len(set(derived))
    assert set(derived) == set(all_forms("io-optimal"))
    assert not several.others


def plain(family: str) -> list[Derive]:
    """The tasks to derive a family's first form, and no other."""
    return tasks(PROGRAM, CPU, families=[family], budget=100, seed=0)[:1]


def test_a_search_reaches_the_best_form_though_it_was_not_derived() -> None:
    """Where each word of a form makes variants faster, a search goes from form to form until it has
    the best, which was not derived at first."""
    several = growing()
    best, start = {"relaid", "items", "tall", "taps"}, forms_of(several)
    assert ("registers", "relaid items tall taps") not in start
    search = several.search(Options(variants=150))

    def time_of(number: int) -> float:
        variant = several.variants[number]
        far = len(best ^ set(variant.form.split()))
        return 1e6 * (1 + far + 3 * (variant.family != "registers"))

    times = [t for _, t in run(search, time_of, 200) if t is not None]
    assert min(times) == 1e6
    assert len(several.forms) > len(start)


def test_the_same_times_derive_the_same_forms_in_the_same_order() -> None:
    found = []
    for _ in range(2):
        several = growing()
        search = several.search(Options(variants=60))
        tried = run(search, partial(time_by_name, several), 60)
        found.append((forms_of(several), [several.variants[n].id for n, _ in tried]))
    assert found[0] == found[1]
    assert len(found[0][0]) > len(forms_of(growing()))


def test_a_run_begins_with_a_form_of_each_family_and_derives_the_others_round_by_round() -> None:
    options = Options(variants=100, families=("registers", "blocked"))
    found = begin(options)
    assert forms_of(found) == [("registers", "relaid swept vector-loads"), ("blocked", "relaid")]
    due = [named(task.form) for task in found.due]
    search = found.search(options)
    assert search.next_round()
    assert len(found.due) == len(due)  # nothing is derived beside the first round
    while found.due:
        assert search.next_round()
    found.near([], [])
    assert set(due) <= set(forms_of(found))


def test_what_is_random_or_short_or_for_a_device_that_is_not_here_has_all_forms_at_first() -> None:
    options = Options(variants=100, families=("registers", "blocked"))
    whole = set(map(named, (t.form for t in tasks_for(PROGRAM, CPU, options))))
    for found in (
        begin(replace(options, strategy="random")),
        begin(replace(options, variants=12)),
        begin(options, soon=False),
    ):
        assert not found.due
        assert set(forms_of(found)) >= {("registers", ""), ("blocked", "")}
        assert len(found.forms) > 4
    assert set(forms_of(found)) == whole


def test_a_run_begins_with_other_forms_where_the_first_do_not_apply() -> None:
    """Winograd's transforms are of floats: of halves, only those forms apply that widen them."""
    halves = parse_file(EXAMPLES / "half_conv.lift", {"C": 16, "W": 8, "H": 8, "M": 16})
    found = candidates(halves, CPU, Options(variants=8, families=("winograd",)), Here())
    assert found.variants
    assert all("widened" in form.lowered.form.name for form in found.forms)


def begin(options: Options, soon: bool = True) -> Candidates:
    """The candidates with which a run begins, whose forms are derived in this process."""
    return candidates(PROGRAM, CPU, options, Here(), soon=soon)


def time_by_name(several: Candidates, number: int) -> float:
    return 1e6 + hash_of(several.variants[number].id)


def hash_of(name: str) -> int:
    return int(name.split("-")[-1], 16) % 1_000_000
