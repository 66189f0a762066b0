"""The file of the right results of a run: its hash is stored with the run and checked when it is
read."""

import hashlib
import io
import os
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from explore.files.own_folder import OwnFolder
from explore.measure.reference import Array, Expected, Reference, reference
from ir.core.nodes import Program
from ir.core.type_rules import type_of
from ir.errors import UserError
from ir.meaning.inputs import parts_of, shape_of

FILE = "reference.npz"
OUTPUT = re.compile(r"output\.([0-9]{1,3})\.npy")  # one for each array of the result
EXACT = ("exact", "scale", "rounding")  # of results that are whole numbers
ROOM = 1 << 16  # bytes of a file beside its arrays


def stored_reference(program: Program, seed: int, folder: Path, sha256: str | None = None) -> Path:
    """The file with a program's reference in `folder`; it is computed and written, unless a file
    with the hash `sha256` is there."""
    with OwnFolder.opened(folder) as own:
        if sha256 is None or not _holds(own, _shapes_of(program), sha256):
            _write(own, _demanded(program, seed))
    return folder / FILE


def hash_of(file: Path) -> str:
    """The sha256 of a file's content."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def load_reference(file: Path | bytes) -> Reference:
    """The reference that `stored_reference` wrote to a file, or in its bytes; a ValueError if it
    holds anything else."""
    with ZipFile(io.BytesIO(file) if isinstance(file, bytes) else file) as archive:
        packed = [m.filename for m in archive.infolist() if m.compress_type != ZIP_STORED]
        if packed:
            raise ValueError(f"expected arrays that are not compressed, found {packed[0]!a:.60}")
        arrays = {name: _array(archive.read(name)) for name in archive.namelist()}
    several = range(sum(1 for name in arrays if OUTPUT.fullmatch(name)))
    outputs = [f"output.{k}.npy" for k in several]
    exact = [[f"{name}.{k}.npy" for name in EXACT] for k in several]
    if not outputs or arrays.keys() not in ({*outputs}, {*outputs, *chain(*exact)}):
        raise ValueError(f"expected the arrays of a reference, found {[*arrays]!a:.80}")
    right = tuple(arrays[name] for name in outputs)
    if len(arrays) == len(outputs):
        return Reference(right)
    return Reference(right, tuple(_exact(*(arrays[name] for name in names)) for names in exact))


def _exact(output: Array, scale: Array, rounding: Array) -> Expected:
    return Expected(output, float(scale), float(rounding))


def _holds(own: OwnFolder, shapes: Sequence[tuple[int, ...]], sha256: str) -> bool:
    """True if the folder's file of right results exists, is not too long, has this hash, and holds
    results of these shapes."""
    most = ROOM * len(shapes) + 2 * 8 * sum(int(np.prod(shape, dtype=object)) for shape in shapes)
    if not own.is_file(FILE) or os.lstat(FILE, dir_fd=own.fd).st_size > most:
        return False
    try:
        same = hash_of(own.path / FILE) == sha256
    except OSError:
        return False
    return same and _of_shapes(own.path / FILE, shapes)


def _of_shapes(file: Path | bytes, shapes: Sequence[tuple[int, ...]]) -> bool:
    """True if a file, or its bytes, holds results of these shapes."""
    try:
        found = load_reference(file)
    except (OSError, ValueError, TypeError, KeyError, EOFError, BadZipFile):
        return False
    exact = [meant.output for meant in found.exact or ()]
    return all([a.shape for a in made] == [*shapes] for made in (found.outputs, exact) if made)


def is_reference_of(program: Program, content: bytes) -> bool:
    """True if the bytes of a file hold a reference with results of a program's shapes."""
    return _of_shapes(content, _shapes_of(program))


def _shapes_of(program: Program) -> list[tuple[int, ...]]:
    return [shape_of(part) for _, part in parts_of(type_of(program.body))]


def _array(data: bytes) -> Array:
    """The array of doubles in the bytes of an .npy file; a ValueError if they are anything else."""
    file = io.BytesIO(data)
    if (version := np.lib.format.read_magic(file)) != (1, 0):
        raise ValueError(f"expected an array in the .npy form 1.0, found {version}")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    left = data[file.tell() :]
    if by_columns or dtype != np.float64 or len(left) != 8 * int(np.prod(shape, dtype=object)):
        raise ValueError(
            f"expected the doubles of an array of shape {shape}, row by row, "
            f"found {len(left)} bytes of {dtype}"
        )
    return np.frombuffer(left, np.float64).reshape(shape)


def _write(own: OwnFolder, found: Reference) -> None:
    arrays: dict[str, object] = {f"output.{k}": out for k, out in enumerate(found.outputs)}
    for k, meant in enumerate(found.exact or ()):
        values = (meant.output, meant.scale, meant.rounding)
        arrays |= {f"{name}.{k}": value for name, value in zip(EXACT, values, strict=True)}
    doubles = {name: np.asarray(array, np.float64, order="C") for name, array in arrays.items()}
    with own.making(FILE) as fd, open(fd, "wb", closefd=False) as out:
        try:
            np.savez(out, **doubles)  # type: ignore[arg-type]
        except OSError as error:
            raise UserError(f"cannot write {own.path / FILE}: {error.strerror}") from error


def _demanded(program: Program, seed: int) -> Reference:
    try:
        found = reference(program, seed)
    except UserError as error:
        raise UserError(
            f"no variant of {program.name} could be checked here: {error}; "
            "--profile ranks variants without running any"
        ) from error
    if any(np.isnan(output).all() for output in found.outputs):
        raise UserError(
            f"{program.name} gives no numbers for inputs from -1 to 1: "
            "no variant could be checked against them"
        )
    return found
