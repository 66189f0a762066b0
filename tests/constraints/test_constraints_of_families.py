"""Tests that the families' constraints admit exactly the legal points, against a check of every
point by itself.

A point is legal if the program with its values has whole sizes and types that hold, if its code
takes no more than the device has, and if it satisfies the requirements of its family.
"""

# key: p parameter

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from constraints.count.points import space
from constraints.devices import MALI_G72, Profile
from constraints.quantities.quantities import peak_at, quantities
from constraints.relations.relations import ratio
from constraints.solve.solver import Answer, Solver
from explore.space.derive_form import constraints
from explore.space.lowering import bound, lowering
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse_file
from rewrites.tuning.lowering import Lowering
from tests.support.constraints_programs import types_and_nodes_hold

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = {"C": 4, "M": 6, "H": 7, "W": 7}
LOCAL, GROUP, MEMORY = 2048, 64, 12_000
TIGHT = replace(MALI_G72, group_items=GROUP, local_bytes=LOCAL, private_words=24, code=400)
POINTS = 36

Point = dict[str, int]

FORMS = (
    ("registers", ""),
    ("registers", "relaid tall taps"),
    ("blocked", "ahead flipped"),
    ("blocked", "padded relaid split ahead"),
    ("blocked", "relaid sliced ahead along"),
    ("mec", "blocked along"),
    ("lift", "vectors unrolled"),
    ("lift", "padded relaid stored-sums coalesced"),
)


def legal(low: Lowering, point: Point, device: Profile) -> bool:
    return (
        types_and_nodes_hold(low.program, point)
        and all(_at_most(r.a, r.b, point) for r in low.requirements)
        and all(point[c.parameter] in c.values for c in low.choices)
        and _fits(low, point, device)
    )


def _at_most(a: object, b: object, point: Point) -> bool:
    (n, d), (m, e) = ratio(a, point), ratio(b, point)  # type: ignore[arg-type]
    return n * e <= m * d


def _fits(low: Lowering, point: Point, device: Profile) -> bool:
    concrete = bound(low.program, point)
    made = generate(concrete, max_work_group=10**9)
    known = quantities(concrete)
    return (
        all(f.local_bytes <= device.local_bytes for f in made.facts)
        and all(prod(k.local_size) <= device.group_items for k in made.kernels)
        and made.plan.memory_bytes <= MEMORY
        and all(peak_at(k.private_bytes, {}) <= 4 * device.private_words for k in known.kernels)
        and all(peak_at((k.code,), {}) <= device.code for k in known.kernels)
    )


def candidates(legals: list[Point], random: Random) -> Iterator[Point]:
    """The points to check: all in a box around the points `legals`, and points of `legals` with one
    value exchanged at random."""
    box = {p: sorted({q[p] for q in legals} | set(range(1, 9))) for p in legals[0]}
    for _ in range(POINTS // 3):
        yield {p: random.choice(values) for p, values in box.items()}
    for _ in range(POINTS // 3):
        moved = random.choice(sorted(box))
        yield random.choice(legals) | {moved: random.choice(box[moved])}
    yield from random.sample(legals, min(len(legals), POINTS // 3))


@pytest.mark.no_cover
@pytest.mark.parametrize(("family", "form"), FORMS)
def test_a_familys_points_are_the_legal_ones(family: str, form: str) -> None:
    low = lowering(parse_file(EXAMPLES / "vgg.lift", SMALL), family, form)
    system = constraints(low, TIGHT, MEMORY)
    legals = list(space(system).all())
    solver = Solver(system)
    found = {tuple(point.values()) for point in legals}
    seen = {True: 0, False: 0}
    for point in candidates(legals, Random(f"{family} {form}")):
        admitted = tuple(point[p] for p in system.parameters) in found
        assert legal(low, point, TIGHT) == admitted, point
        seen[admitted] += 1
    assert min(seen.values()) >= POINTS // 6
    for point in legals[:3]:
        assert solver.certify(point) is Answer.YES


@pytest.mark.no_cover
@pytest.mark.parametrize(("family", "form"), FORMS)
def test_legal_points_run_right_on_the_device(family: str, form: str, session: Session) -> None:
    program = parse_file(EXAMPLES / "vgg.lift", SMALL)
    low = lowering(program, family, form)
    inputs = random_inputs(program, seed=Random().randrange(2**31), integers=True)
    expected = evaluate(program, inputs)
    for point in space(constraints(low, TIGHT, MEMORY)).sample(2, Random()):
        made = generate(bound(low.program, point))
        demand_proofs(made)
        built = session.build(made.plan, checking=True)
        assert np.array_equal(built(inputs), expected), point
        built.release()
