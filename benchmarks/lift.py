"""A claim of LIFT's paper measured again: the speedup of the fastest variant of the family `lift`
over naive direct convolution.

    python -m benchmarks.lift vgg-7 [--device D] [--variants 200] [--time-limit 2m] [--out DIR]

Both are explored in one run and then timed in turns.
"""

import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.layers import arguments, explored, heading, layers
from explore.measure.measure_tasks import Again
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


def in_turns(run: Run, layer: str) -> dict[str, Level]:
    """The times of the fastest variant of each of `FAMILIES` in a run, by the family's name. The
    variants are timed in turns; messages about a failure call the program `layer`."""
    records, environment = run.records, run.environment
    best = [pick([r for r in records if r.variant.family == family]) for family in FAMILIES]
    options = Options.from_json(environment.options)
    program = Source(environment.program, layer).program(options)
    with ExitStack() as stack:
        worker = stack.enter_context(
            device_pool(run.folder, program, options, device_of(environment))
        )
        worker.submit(Again(tuple(r.variant.plan for r in best if r.variant.plan is not None)))
        (done,) = worker.results()
    if isinstance(done.result, Failed):
        raise UserError(f"{layer}: its variants could not be timed again: {done.result.reason}")
    return dict(zip(FAMILIES, map(Level.of, done.result.readings), strict=True))


def main(argv: list[str]) -> None:
    given = arguments([*argv, "--families", ",".join(FAMILIES)], __doc__)
    lines = ["| layer | naive | fastest lift | naive / lift |", "|---|---|---|---|"]
    for layer in layers(given.layers, given.batch):
        folder: Path = given.out / f"lift-{layer.name.replace(' × ', '-n')}"
        times = in_turns(explored(layer, folder, given), layer.name)
        naive, lift = (times[family].median_ns for family in FAMILIES)
        cells = [f"{show_time(t.median_ns)} ± {t.spread:.1%}" for t in times.values()]
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
