"""A claim of LIFT's paper measured again: the speedup of the fastest variant of the family `lift`
over naive direct convolution.

    python -m benchmarks.lift vgg-7 [--device D] [--variants 200] [--time-limit 2m] [--out DIR]

Each is explored in a run of its own, as a search leaves out what is far slower than what is known;
then both are timed in turns.
"""

import sys
from pathlib import Path

from benchmarks.layers import arguments, explored, heading, layers
from benchmarks.search import levels
from explore.options.units import show_time
from ir.errors import UserError

FAMILIES = ("naive", "lift")


def main(argv: list[str]) -> None:
    given = arguments(argv, __doc__)
    lines = ["| layer | naive | fastest lift | naive / lift |", "|---|---|---|---|"]
    for layer in layers(given.layers, given.batch):
        runs = []
        for family in FAMILIES:
            given.families = family
            folder: Path = given.out / f"{family}-{layer.name.replace(' × ', '-n')}"
            runs.append(explored(layer, folder, given))
        times = levels(runs)
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
