"""Tests that the kernels of five hand-written lowered programs are, word for word, those of the
golden files.

`python -m tests.codegen.test_golden_kernels` writes tests/golden/*.cl anew from the programs beside
them.
"""

import statistics
import time
from pathlib import Path

import numpy as np
import pytest

from codegen.compile import generate
from codegen.runtime.session import Session
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse_file

PROGRAMS = sorted((Path(__file__).parents[1] / "golden").glob("*.lift"))


def text_of(program: Path) -> str:
    title = program.read_text().splitlines()[0].removeprefix("-- ")
    return f"// {title}\n\n{generate(parse_file(program)).plan.source}"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_text_of_a_kernel_is_as_it_was(program: Path) -> None:
    assert text_of(program) == program.with_suffix(".cl").read_text()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_golden_kernel_computes_exactly_what_it_should(session: Session, program: Path) -> None:
    parsed = parse_file(program)
    inputs = random_inputs(parsed, 0)
    built = session.build(generate(parsed).plan, checking=True)
    out = built({name: np.asarray(data) for name, data in inputs.items()})
    assert np.array_equal(out, np.asarray(evaluate(parsed, inputs)))


def test_a_tiled_matrix_product_is_emitted_in_50_milliseconds() -> None:
    program = parse_file(Path(__file__).parents[1] / "golden" / "matmul.lift")
    generate(program)
    taken = []
    for _ in range(7):
        started = time.process_time()
        generate(program)
        taken.append(time.process_time() - started)
    assert statistics.median(taken) < 0.05


if __name__ == "__main__":
    for path in PROGRAMS:
        path.with_suffix(".cl").write_text(text_of(path))
