"""Plans that ran in stored runs, timed again in turns: times from different minutes cannot be
compared."""

from collections.abc import Sequence

from codegen.plan import Plan
from codegen.runtime.devices import Device
from explore.measure.measure_tasks import Again, Passes
from explore.measure.reference_file import FILE
from explore.options.options import Options
from explore.results.pace import Level, Reading
from explore.results.records import Failed
from explore.run.run import Run
from explore.run.source import Source
from explore.run.target import device_of
from explore.run.worker_pools import device_pool
from explore.workers.workers import Workers
from ir.core.nodes import Program
from ir.errors import UserError


def program_of(run: Run) -> Program:
    """The program of a stored run, with the sizes of the run."""
    options = Options.from_json(run.environment.options)
    return Source.of(run.environment).program(options)


def meter(run: Run, device: Device | None = None) -> Workers:
    """The pool of a worker that times plans of a stored run on a device (None: the run's own)."""
    environment = run.environment
    options = Options.from_json(environment.options)
    there = device_of(environment) if device is None else device
    return device_pool(run.folder / FILE, program_of(run), options, there)


def timed(
    worker: Workers, plans: Sequence[Plan], turns: int = 1, limit_s: float | None = None
) -> list[Level]:
    """The times of plans, in their order, from several turns of a worker, each within `limit_s`
    seconds (None: the worker's usual limit)."""
    readings: list[list[Reading]] = [[] for _ in plans]
    for _ in range(turns):
        worker.submit(Again(tuple(plans)), limit_s)
        for mine, taken in zip(readings, passes(worker).readings, strict=True):
            mine += taken
    return [Level.of(each) for each in readings]


def passes(worker: Workers) -> Passes:
    """The measurement of the worker, once it is done; a UserError if it failed."""
    (done,) = worker.results()
    if isinstance(done.result, Failed):
        raise UserError(f"plans of a run could not be timed again: {done.result.reason}")
    assert isinstance(done.result, Passes)
    return done.result
