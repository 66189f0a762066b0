"""The files of arrays that commands read and write: the inputs of a program, and its result."""

import argparse
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ir.core.nodes import Program
from ir.errors import UserError
from ir.host_memory import demand_memory
from ir.meaning.inputs import (
    STORED,
    Data,
    Numbers,
    arrays_of,
    check_inputs,
    demand_few,
    random_inputs,
)

BEGINNINGS = (b"\x93NUMPY", b"PK")  # of .npy and .npz files


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the options `--input`, `--random` and `--output` to a parser; `data_of` reads the first
    two."""
    parser.add_argument(
        "--input",
        metavar="NAME=FILE.npy",
        type=_input,
        action="append",
        default=[],
        help="the array of a parameter; for tuples an .npz with the arrays in order",
    )
    parser.add_argument(
        "--random",
        metavar="SEED",
        type=_seed,
        help="seed of random whole numbers for other inputs: from the whole range of whole types, "
        "small ones of real types",
    )
    parser.add_argument(
        "--output",
        metavar="OUT.npy",
        type=_output,
        required=True,
        help="the file of the result; of a tuple, an .npz",
    )


def data_of(program: Program, options: argparse.Namespace) -> Mapping[str, Data]:
    """The arrays for the program's parameters, by name, that `--input` and `--random` give; a
    UserError if they do not fit the parameters."""
    found: dict[str, Data] = {}
    for name, path in options.input:
        if name in found:
            raise UserError(f"input {name} is given twice; expected one array for each parameter")
        found[name] = load(path)
    if options.random is not None:
        demand_few(program)
    demand_memory(program)
    drawn = {} if options.random is None else random_inputs(program, options.random, small=False)
    given = {**drawn, **found}
    check_inputs(program, given)
    return given


def load(path: Path) -> Data:
    """The array in an .npy file, or the tuple of the arrays in an .npz file."""
    try:
        with path.open("rb") as file:
            beginning = file.read(6)
        if not beginning.startswith(BEGINNINGS):
            raise UserError(
                f"cannot read {path}: expected arrays in .npy or .npz form, found a file that "
                f"begins with {beginning!r}"
            )
        data = np.load(path, allow_pickle=False)
        if isinstance(data, np.ndarray):
            return _known(data)
        with data:
            return tuple(_known(data[name]) for name in data.files)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise UserError(f"cannot read {path}: expected arrays in .npy form ({error})") from None


def _known(data: Numbers) -> Numbers:
    """The array `data` from a file; two-byte elements without a type, as .npy files hold bfloats,
    are viewed as bfloats."""
    return data.view(STORED["bfloat"]) if data.dtype == np.dtype("V2") else data


def save(path: Path, result: Data) -> None:
    """Write the result to `path`: an array as .npy, a tuple as an .npz of its components."""
    try:
        with path.open("wb") as file:
            if isinstance(result, tuple):
                np.savez(file, *arrays_of(result))
            else:
                np.save(file, result)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


def _input(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise argparse.ArgumentTypeError(f"expected NAME=FILE.npy, found {text!r}")
    return name, Path(path)


def _output(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("expected the name of a file, found ''")
    return Path(text)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, found {text!r}")
    return int(text)
