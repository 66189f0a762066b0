"""Tests of the type of a sum's accumulator: the error of sums of halves is smaller in wider ones,
on devices that compute with halves."""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from explore.space.lowering import lowering
from ir.core.nodes import Program
from ir.parse import parse
from rewrites.engine.rule import Strategy
from rewrites.engine.strategy import outermost, skip
from rewrites.number_laws.accumulators import sum_in_chunks, sum_in_float

N = 4096
IN_HALF = f"f(xs : [[half]{N}]4) = map(row -> float(reduce(0h, (acc, x) -> acc + x, row)), xs)"
IN_FLOAT = f"f(xs : [[half]{N}]4) = map(row -> reduce(0.0f, (acc, x) -> acc + float(x), row), xs)"


def error(session: Session, text: str, change: Strategy) -> float:
    """The relative error of sums of random numbers from 0 to 1, by the program `text` after
    `change`, in kernels that compute with halves."""
    p = parse(text)
    done = change(p.body)
    assert done is not None
    made = generate(
        lowering(Program(p.name, p.params, done[0]), "naive").program, half_arithmetic=True
    )
    demand_proofs(made)
    xs = np.random.default_rng().uniform(0, 1, (4, N)).astype(np.float16)
    out = session.build(made.plan, checking=True)({"xs": xs})
    right = xs.astype(np.float64).sum(axis=1)
    return float(np.abs(out - right).max() / right.max())


def test_sums_of_halves_lose_less_in_wider_accumulators(session: Session) -> None:
    if not session.device.half:
        pytest.skip(f"{session.device.name} does not compute with halves")
    in_half = error(session, IN_HALF, skip)
    rounded_once = error(session, IN_HALF, outermost(sum_in_float()))
    in_chunks = error(session, IN_FLOAT, outermost(sum_in_chunks(k=64)))
    in_float = error(session, IN_FLOAT, skip)
    assert rounded_once < 2**-11 < in_half
    assert in_float < 2**-20 < in_chunks < in_half
