"""python -m ir FILE prints a typed program; python -m ir eval FILE computes it."""

import argparse
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ir.command import add_set, guard, sizes_of
from ir.errors import UserError
from ir.inputs import Data, Numbers, random_inputs
from ir.interpret import evaluate
from ir.nodes import Program
from ir.parse import parse_file
from ir.show import show
from ir.types import show_type
from ir.typing import type_of

USAGE = """\
python -m ir FILE [--set NAME=SIZE]…
       python -m ir eval FILE (--input NAME=FILE.npy… | --random SEED)
                         --output OUT.npy [--set NAME=SIZE]… [--dtype float64]"""


def main() -> int:
    """The command."""
    words = sys.argv[1:]
    if words[:1] == ["eval"]:
        return guard(lambda: evaluate_file(_eval_options(words[1:])))
    return guard(lambda: print_file(_options(words)))


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m ir", usage=USAGE)
    parser.add_argument("file", metavar="FILE", help="a program, .lift")
    add_set(parser)
    return parser.parse_args(words)


def _eval_options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m ir eval", usage=USAGE)
    parser.add_argument("file", metavar="FILE", help="a program, .lift")
    parser.add_argument(
        "--input",
        metavar="NAME=FILE.npy",
        type=_input,
        action="append",
        default=[],
        help="a parameter's array (tuples: an .npz, its arrays in order)",
    )
    parser.add_argument(
        "--random", metavar="SEED", type=int, help="random whole numbers for what is not given"
    )
    parser.add_argument("--output", metavar="OUT.npy", type=Path, required=True)
    parser.add_argument("--dtype", choices=("float64", "float32", "float16"), default="float64")
    add_set(parser)
    options = parser.parse_args(words)
    if options.random is not None and options.random < 0:
        parser.error("argument --random: expected a number of at least 0")
    return options


def _input(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise argparse.ArgumentTypeError(f"expected NAME=FILE.npy, found {text!r}")
    return name, Path(path)


def print_file(options: argparse.Namespace) -> None:
    """The program as it is understood, and its type."""
    program = parse_file(options.file, sizes_of(options))
    print(f"{show(program)}-- {program.name} : {show_type(type_of(program.body))}")


def evaluate_file(options: argparse.Namespace) -> None:
    """The program's result on the given inputs, written to a file."""
    program = parse_file(options.file, sizes_of(options))
    result = evaluate(program, _inputs(program, options), options.dtype)
    save(options.output, result)
    print(f"{options.output}: {program.name} : {show_type(type_of(program.body))}")


def _inputs(program: Program, options: argparse.Namespace) -> Mapping[str, Data]:
    found: dict[str, Data] = {}
    for name, path in options.input:
        if name in found:
            raise UserError(f"input {name} is given twice")
        found[name] = load(path)
    drawn = {} if options.random is None else random_inputs(program, options.random)
    return {**drawn, **found}


def load(path: Path) -> Data:
    """The array in an .npy file, or the tuple of those in an .npz."""
    try:
        data = np.load(path, allow_pickle=False)
        if isinstance(data, np.ndarray):
            return data
        with data:
            return tuple(data[name] for name in data.files)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise UserError(f"cannot read {path}: expected arrays in .npy form ({error})") from None


def save(path: Path, result: Data) -> None:
    """Write an array as .npy, a tuple as the arrays of an .npz."""
    try:
        with path.open("wb") as file:
            if isinstance(result, tuple):
                np.savez(file, *_flat(result))
            else:
                np.save(file, result)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


def _flat(result: Data) -> list[Numbers]:
    if isinstance(result, tuple):
        return [array for part in result for array in _flat(part)]
    return [np.asarray(result)]


if __name__ == "__main__":
    sys.exit(main())
