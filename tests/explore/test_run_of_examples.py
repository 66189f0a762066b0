"""Tests of a whole run of an example whose variants are made of many kernels."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from codegen.runtime.devices import Device
from explore.options.options import Options
from explore.results.records import Measured, Record, kernels_of
from explore.run.run import Run, resume, start
from explore.run.source import Source
from explore.run.target import Target, profile_of
from explore.run_store.guarded_database import FILE
from tests.support.agreement import EXAMPLES, SMALL

VARIANTS = 14  # enough for the search to be guided by the times of kernels


def run_of_attention(device: Device, folder: Path) -> Run:
    sizes = tuple(SMALL["attention"].items())
    options = Options(variants=VARIANTS, families=("naive", "lift"), sizes=sizes, jobs=1)
    source = Source((EXAMPLES / "attention.lift").read_text(), "attention")
    run, finished = start(source, options, Target(profile_of(device), device), folder)
    assert finished
    return run


def kernels_known_and_run(record: Record) -> tuple[int, int]:
    """The number of kernels that inference finds for a variant, and the number that its plan
    launches at each run."""
    assert record.variant.plan is not None
    return len(record.variant.features), sum(not k.prepack for k in record.variant.plan.kernels)


@pytest.mark.long
def test_a_program_of_many_kernels_is_explored_to_the_end_and_gone_on_with(
    device: Device, tmp_path: Path
) -> None:
    run = run_of_attention(device, tmp_path / "run")
    measured = [r for r in run.records if isinstance(r.outcome, Measured)]
    assert len(measured) > VARIANTS // 2
    assert max(len(kernels_of(r.outcome)) for r in measured) > 3
    for record in measured:
        known, launched = kernels_known_and_run(record)
        assert known == launched
    with closing(sqlite3.connect(run.folder / FILE)) as store, store:
        store.execute("DELETE FROM outcome WHERE rowid > (SELECT min(rowid) FROM outcome) + 12")
    again, finished = resume(run.folder)
    assert finished
    assert len({r.variant.id for r in again.records}) == VARIANTS
