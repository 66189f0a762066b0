"""A claim of LIFT's paper measured again: the speedup of the fastest variant of the family `lift`
over naive direct convolution.

    python -m benchmarks.lift vgg-7 [--device D] [--variants 200] [--time-limit 2m] [--out DIR]

Each is explored in a run of its own, as a search leaves out what is far slower than what is known;
then both are timed in turns.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.layers import arguments, explored, heading, layers
from explore.measure.measure_tasks import Again
from explore.measure.reference_file import stored_reference
from explore.options.options import Options
from explore.options.units import show_time
from explore.results.front import pick
from explore.results.pace import Level
from explore.results.records import Failed
from explore.run.run import Run
from explore.run.source import Source
from explore.run.target import device_of
from explore.run.worker_pools import device_pool
from ir.errors import UserError

FAMILIES = ("naive", "lift")


def in_turns(runs: Sequence[Run], layer: str) -> list[Level]:
    """The times of the fastest variant of each run, which are of one program. The variants are
    timed in turns; messages about a failure call the program `layer`."""
    environment, folder = runs[0].environment, runs[0].folder
    best = [pick(run.records).variant.plan for run in runs]
    options = Options.from_json(environment.options)
    program = Source(environment.program, layer).program(options)
    file = stored_reference(program, options.seed, folder, environment.reference)
    with ExitStack() as stack:
        worker = stack.enter_context(device_pool(file, program, options, device_of(environment)))
        worker.submit(Again(tuple(plan for plan in best if plan is not None)))
        (done,) = worker.results()
    if isinstance(done.result, Failed):
        raise UserError(f"{layer}: its variants could not be timed again: {done.result.reason}")
    return [Level.of(readings) for readings in done.result.readings]


def main(argv: list[str]) -> None:
    given = arguments(argv, __doc__)
    lines = ["| layer | naive | fastest lift | naive / lift |", "|---|---|---|---|"]
    for layer in layers(given.layers, given.batch):
        runs = []
        for family in FAMILIES:
            given.families = family
            folder: Path = given.out / f"{family}-{layer.name.replace(' × ', '-n')}"
            runs.append(explored(layer, folder, given))
        times = in_turns(runs, layer.name)
        naive, lift = (time.median_ns for time in times)
        cells = [f"{show_time(t.median_ns)} ± {t.spread:.1%}" for t in times]
        lines.append(f"| {layer.name} | {' | '.join(cells)} | {naive / lift:.1f} |")
        print(lines[-1], flush=True)
        if given.table:
            given.table.write_text(heading(given) + "\n".join(lines) + "\n")
    print("\n" + heading(given) + "\n".join(lines))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        sys.exit(f"{error}")
