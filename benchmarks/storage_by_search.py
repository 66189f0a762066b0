"""Layers that move more than they compute, with numbers stored as floats, halves and bytes: each
found by a run of `explore` with the same budget, then timed in turns.

    python -m benchmarks.storage_by_search [--device D] [--megabytes 128] [--variants 200]
        [--time-limit 90s] [--families naive,registers] [--types float,half,char] [--rounds 9]
        [--seed 0] [--out runs/storage] [LAYER …]

The layers and the table are those of `python -m benchmarks.storage`. A layer is explored with each
type on about a quarter of the image's rows, which are as long as they are, so many that the same
blocks of rows fit; runs that are in --out already
are not made again. The fastest three variants of a run are built for the whole image, and are timed
in turns with those of the other types and with copies of as many bytes. No run uses a record book.
"""

import argparse
import statistics
from pathlib import Path

from benchmarks.storage import Way, alike, built, copy, layer, options_of, told
from codegen.runtime.session import Session, choose, open_device
from explore.api import explore
from explore.results.front import usable
from explore.results.records import Record
from explore.run.run import Run
from ir.text.show import show
from rewrites.families.all_families import form_named

FINALISTS = 3
PART = 4  # one row in so many is explored


def explored(name: str, t: str, given: argparse.Namespace) -> list[Record]:
    """The fastest variants of the layer `name` with numbers of type t, the fastest first, from a
    run of `explore`; a run that --out has already is read."""
    folder = Path(given.out) / f"{name.replace(',', '').replace(' ', '-')}-{t}-{given.megabytes}"
    run = Run(folder) if folder.exists() else None
    run = run or explore(
        show(layer(name, t, given.megabytes, PART)),
        device=given.device,
        out=folder,
        records=False,
        variants=given.variants,
        time_limit=given.time_limit,
        families=given.families,
        seed=given.seed,
    )
    return sorted(usable(run.records), key=lambda r: r.time_ns or 0.0)[:FINALISTS]


def best(name: str, t: str, session: Session, given: argparse.Namespace) -> list[Way]:
    """The fastest variants that a search found of the layer `name` with numbers of type t, built
    for the whole image."""
    source = layer(name, t, given.megabytes)
    variants = [record.variant for record in explored(name, t, given)]
    return [
        built(source, form_named(source, v.family, v.form), dict(v.parameters), session, given)
        for v in variants
    ]


def compare(name: str, session: Session, given: argparse.Namespace) -> None:
    """Search for the layer `name` with each type of numbers, time the fastest variants and copies
    of as many bytes in turns, and print a line for the fastest variant of each type and for its
    copy."""
    found = {t: best(name, t, session, given) for t in given.types.split(",")}
    copies = {t: copy(ways[0].moved, session) for t, ways in found.items()}
    for ways in found.values():
        alike(ways)
    racing = [way for t, ways in found.items() for way in (*ways, copies[t])]
    for _ in range(given.rounds):
        for way in racing:
            way.run()
    by_processor = session.device.kind == "cpu"
    first = {t: min(ways, key=lambda w: _median(w, by_processor)) for t, ways in found.items()}
    for t, way in first.items():
        for each in (way, copies[t]):
            print(told(name, t, each, copies[t], first["float"], session), flush=True)
    for way in racing:
        way.built.release()


def _median(way: Way, by_processor: bool) -> float:
    return statistics.median(way.processor_ms if by_processor else way.device_ms)


def main() -> None:
    options = options_of(__doc__, "float,half,char")
    options.add_argument("--variants", type=int, default=200)
    options.add_argument("--time-limit", default="90s")
    options.add_argument("--families", default="naive,registers")
    options.add_argument("--out", default="runs/storage")
    given = options.parse_args()
    given.stored = False
    session = open_device(choose(given.device))
    print(f"{session.device.name}: an image of {given.megabytes} MiB in floats")
    for name in given.layers:
        compare(name, session, given)


if __name__ == "__main__":
    main()
