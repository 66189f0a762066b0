"""Plans whose kernels address global memory by bytes, tried in all ways there are."""

import random

import numpy as np
import pytest

from codegen.plan import Plan
from codegen.runtime.built_program import Program as Built
from codegen.runtime.devices import devices, working
from codegen.runtime.session import open_device
from codegen.text_proof.prove_text import prove_texts
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from tests.support.text_simulator import faults


def prove_and_run(program: Program, made: Plan) -> None:
    """Prove a plan for the program, simulate it, and run it where a device is here: its result
    equals the interpreter's."""
    assert [v for proof in prove_texts(made) for v in proof.failures] == []
    assert not faults(made)
    here = [d for d in working(devices()) if not d.simulator]
    if not here:
        pytest.skip("no OpenCL device works here")
    inputs = random_inputs(program, random.randrange(1 << 30))  # whole numbers
    built: Built = open_device(here[0]).build(made)
    expected = evaluate(program, inputs)
    assert isinstance(expected, np.ndarray)
    assert np.array_equal(built(inputs), expected)
