"""Tests that no number of a program that is proved not to overflow does so: random terms give the
same in ints and in longs, over the extremes of their inputs."""

import os
import secrets
from random import Random

import numpy as np
import pytest

from constraints.infer.overflow import no_overflow
from constraints.relations.relations import Constraint, holds
from ir.core.nodes import Expr
from ir.meaning.interpret import evaluate
from tests.support.twin_terms import drawn, extremes, program

SEED = os.environ.get("SEED") or secrets.token_hex(4)
ROWS = (1, 2, 5, 17)


def broken(e: Expr) -> list[Constraint]:
    return [c for c in no_overflow(e) if not holds(c.relation, {})]


@pytest.mark.no_cover
def test_what_is_proved_of_random_terms_does_not_overflow() -> None:
    kept = differ = 0
    for k in range(120):
        r = Random(f"{SEED} {k}")
        term, n = drawn(r, r.randint(1, 4)), r.choice(ROWS)
        ints, longs, inputs = program(term.ints, n), program(term.longs, n), extremes(r, n)
        found, right = (np.asarray(evaluate(p, inputs)) for p in (ints, longs))
        refused = broken(ints.body)
        assert refused or np.array_equal(found, right), (SEED, k, term.ints)
        kept, differ = kept + (not refused), differ + (not np.array_equal(found, right))
    assert kept > 60


@pytest.mark.parametrize(
    ("term", "where"),
    [
        ("w * w", "w * w"),
        ("y * y * y * y", "y * y * y * y"),
        ("w * w / 2", "w * w"),
        ("float(w * w)", "w * w"),
        ("long(w * z)", None),
        ("(w * w) & 255", None),
        ("ushort(w * w)", None),
        ("ushort_sat(w * w)", "w * w"),
        ("abs(y * y * y * y)", "y * y * y * y"),
        ("select(w * w > 3, 1, 2)", "w * w"),
        ("reduce(0, (a, t) -> max(a + t * t, 0), ws)", "a + t * t"),
        ("reduce(0, (a, t) -> max(a + t * t, 0), ys)", None),
        ("reduce(0, (a, t) -> max(a - t * 32767, 0), ws)", None),
        ("reduce(0s, (a, t) -> short(a + t), ws)", None),
        ("reduce(0s, (a, t) -> short(a * t * w), ws)", None),
        ("reduce(0s, (a, t) -> short_sat(a * t), ws)", None),
        ("reduce(1s, (a, t) -> short_sat(a * t * w), ws)", "a * t * w"),
        ("reduce(0, (a, t) -> (a * 3 + t) / 4, ws)", None),
        ("reduce(0, (a, t) -> a * 2 + t, ys)", None),
        ("reduce(0, (a, t) -> a * 4 + t, ws)", "reduce(0, (a, t) -> a * 4 + t, ws)"),
        ("reduce(0, (a, t) -> t - a, ws)", None),
        ("reduce(2, (a, t) -> a * a, ws)", "reduce(2, (a, t) -> a * a, ws)"),
        ("reduce(0, (a, t) -> a + select(a < t, 3, t), ws)", None),
        ("reduce((0, 0), (a, t) -> (a.0 + t, a.1 + a.0 * 8192), ws).1", "reduce(…, ws)"),
        ("reduce((0, 0), (a, t) -> (a.0 + t, a.1 + a.0), ws).1", None),
        ("reduce(0, (a, t) -> a + t, ws) * x", None),
        ("reduce(0, (a, t) -> a + t, ws) * z", "reduce(0, (a, t) -> a + t, ws) * z"),
    ],
)
def test_a_number_that_may_not_fit_is_named(term: str, where: str | None) -> None:
    found = broken(program(term, 17).body)
    assert bool(found) == (where is not None), [c.why for c in found]
    assert where is None or found[0].origin == where
