"""Tests that laws take zero points out of the sums of quantised convolutions, and that the sums
keep their values."""

import numpy as np

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program, Reduce, Var, Zip
from ir.core.terms import subterms
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.text.show import show
from rewrites.engine.strategy import outermost
from rewrites.number_laws.zero_points import zero_points_out
from tests.support.agreement import SMALL, example


def without_zero_points(p: Program) -> Program:
    done = outermost(zero_points_out())(p.body)
    assert done is not None
    return Program(p.name, p.params, done[0])


def test_sums_of_bytes_start_from_what_zero_points_add() -> None:
    for name in ("qlinear_conv", "tflite_conv"):
        p = example(name, SMALL[name])
        made = without_zero_points(p)
        inputs = random_inputs(p, 3)
        assert np.array_equal(np.asarray(evaluate(p, inputs)), evaluate(made, inputs))
        assert "acc + x * w" in show(made)


def test_the_sum_of_weights_goes_over_weights_alone() -> None:
    made = without_zero_points(example("tflite_conv", SMALL["tflite_conv"]))
    sums = [e for e in subterms(made.body) if isinstance(e, Reduce)]
    assert [isinstance(e.xs, Zip) for e in sums].count(False) == 1
    (alone,) = [e for e in sums if not isinstance(e.xs, Zip)]
    names = {e.name for e in subterms(alone) if isinstance(e, Var)}
    assert "kernel" in names
    assert "window" not in names


def test_kernels_of_such_sums_are_right(sessions: tuple[Session, ...]) -> None:
    for name in ("qlinear_conv", "tflite_conv"):
        p = example(name, SMALL[name])
        inputs = random_inputs(p, 5)
        for family in ("naive", "registers"):
            low = lowering(without_zero_points(p), family)
            _, (point,) = points(low, profile("cpu"), 1, seed=0)
            made = generate(bound(low.program, point), max_work_group=64)
            demand_proofs(made)
            for session in sessions:
                out = session.build(made.plan, checking=True)(inputs)
                assert np.array_equal(out, evaluate(p, inputs)), family
