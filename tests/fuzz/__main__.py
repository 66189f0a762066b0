"""The command `python -m tests.fuzz --minutes 30`, which tries random programs, and prints and
keeps its findings."""

import argparse
import secrets
import sys
from pathlib import Path

from tests.fuzz.found import FOLDER
from tests.fuzz.fuzzer import Fuzzer
from tests.fuzz.simulator import CHECKS, run_simulated


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--programs", type=int, help="so many at most")
    parser.add_argument("--seed", help="the same programs again; a fresh one is printed")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--ways", type=int, default=1, help="of each program, beside the plain one")
    parser.add_argument("--device", help="as explore takes it; else every device that works")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--oclgrind", choices=CHECKS, help="on the simulator: what it looks for")
    parser.add_argument("--found", type=Path, default=FOLDER, help="where findings are kept")
    return parser


def main(arguments_given: list[str]) -> int:
    """Run the fuzzer with these command-line arguments; returns 1 if there was a finding, else
    0."""
    given = arguments().parse_args(arguments_given)
    if given.oclgrind:
        return run_simulated(given.oclgrind, arguments_given)
    fuzzer = Fuzzer(given.seed or secrets.token_hex(4), given.ways, given.found, given.device)
    fuzzer.run(given.jobs, given.minutes, given.programs, given.first)
    return 1 if fuzzer.counted.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
