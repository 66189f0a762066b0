"""The arrays of a model's weights, from the model's file or from files beside it."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from explore.onnx_model.onnx_graph import Array, Kind
from ir.errors import Unsupported, UserError

MOST_BYTES = (1 << 31) - 1  # of one tensor: offsets of OpenCL kernels and protobuf end there
MOST_IN_ALL = 1 << 33  # bytes of all constants of a model


def array_of(tensor: Any, folder: Path) -> Array:
    """The array of a `TensorProto`; data that lies in another file must lie in the model's
    `folder`."""
    name, size = _named(tensor), bytes_of(tensor)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _external(tensor, folder, name, size)
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError) as error:
        raise UserError(f"weights {name!r} are damaged: {error}") from error


def demand_small(what: str, kind: Kind) -> None:
    """Refuse a tensor that is larger than any may be; a message begins with `what`."""
    if kind.bytes > MOST_BYTES:
        sizes = " × ".join(map(str, kind.shape))
        raise Unsupported(
            f"{what} ({sizes}) takes {kind.bytes:,} bytes: at most {MOST_BYTES:,} are taken"
        )


def _named(tensor: Any) -> str:
    return tensor.name or "a constant"


def bytes_of(tensor: Any) -> int:
    """The number of bytes that a tensor's data takes by its shape and type; a UserError if that is
    more than one tensor may take."""
    name, shape = _named(tensor), tuple(tensor.dims)
    if any(n < 0 for n in shape):
        raise UserError(f"weights {name!r} have the shape {list(shape)}: expected sizes from 0 on")
    try:
        item = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)).itemsize
    except (KeyError, TypeError) as error:
        raise UserError(
            f"weights {name!r}: expected numbers of a known type, found type {tensor.data_type}"
        ) from error
    size: int = math.prod(shape) * item
    if size > MOST_BYTES:
        raise UserError(f"weights {name!r} take {size:,} bytes: at most {MOST_BYTES:,} are taken")
    return size


def _external(tensor: Any, folder: Path, name: str, size: int) -> Array:
    told = {entry.key: entry.value for entry in tensor.external_data}
    file = _inside(told.get("location", ""), folder, name)
    offset, length = (_whole(told.get(key, "0"), key, name) for key in ("offset", "length"))
    if "length" in told and length != size:
        raise UserError(
            f"weights {name!r}: expected {size:,} bytes, as their shape needs, found the length "
            f"{length:,}"
        )
    try:
        found = file.stat().st_size
        if offset + size > found:
            raise UserError(
                f"weights {name!r} end at byte {offset + size:,} of {file.name}, which has "
                f"{found:,}"
            )
        with file.open("rb") as opened:
            opened.seek(offset)
            data = opened.read(size)
    except OSError as error:
        raise UserError(f"weights {name!r}: cannot read {file}: {error.strerror}") from error
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype).reshape(tuple(tensor.dims))


def _inside(location: str, folder: Path, name: str) -> Path:
    """The file at a location, which must be a file in the model's folder, and no link out of it;
    messages call the weights in it `name`."""
    home = folder.resolve()
    try:
        file = (home / location).resolve()
        there = file.is_file()
    except (OSError, ValueError) as error:
        raise UserError(f"weights {name!r}: {location[:99]!r} is no path of a file") from error
    if not location or Path(location).is_absolute() or not file.is_relative_to(home):
        raise UserError(
            f"weights {name!r} lie at {location!r}, outside of the model's folder: nothing there "
            "is read"
        )
    if not there:
        raise UserError(f"weights {name!r} lie in {location!r}, and there is no such file")
    return file


def _whole(text: str, key: str, name: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise UserError(f"weights {name!r}: {key} is {text!r}, expected a number of bytes")
    return int(text)
