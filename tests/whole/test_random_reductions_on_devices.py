"""Tests that random terms of whole numbers, with reductions of every kind in them, are the same on
every device as in the interpreter, over the extremes of their inputs, where they overflow, too."""

import os
import secrets
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from explore.space.lowering import lowering
from ir.meaning.interpret import evaluate
from tests.support.quick_builds import quick_builds as quick_builds
from tests.support.twin_terms import drawn, extremes, program

SEED = os.environ.get("SEED") or secrets.token_hex(4)


@pytest.mark.parametrize("k", range(12))
def test_a_random_term_of_rows(sessions: tuple[Session, ...], k: int) -> None:
    r = Random(f"{SEED} {k}")
    term, n = drawn(r, r.randint(2, 4)), r.choice((1, 5, 17))
    whole, inputs = program(term.ints, n), extremes(r, n)
    made = generate(lowering(whole, "naive").program)
    demand_proofs(made)
    for session in sessions:
        out = session.build(made.plan, checking=True)(inputs)
        right = np.asarray(evaluate(whole, inputs))
        assert np.array_equal(out, right), (SEED, k, term.ints)
