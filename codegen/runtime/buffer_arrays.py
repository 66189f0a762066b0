"""NumPy arrays for a plan's buffers: which are accepted, and the values of poison and guards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codegen.plan import Buffer, Plan, Role
from codegen.runtime.results import PoisonFound
from ir.errors import UserError
from ir.meaning.inputs import STORED, Data
from ir.text.suggest import no_such

Array = NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = STORED

# NaNs with a payload that no arithmetic makes by itself; whole numbers that are seldom used.
# Data may hold them all the same: what was not written shows one in a run, the other in another.
POISONS: tuple[dict[str, Array], dict[str, Array]] = (
    {
        "float": np.array(0x7FC0DEAD, np.uint32),
        "half": np.array(0x7E5A, np.uint16),
        "bfloat": np.array(0x7FDE, np.uint16),
        "int": np.array(0x5EADBEE5, np.uint32),
        "long": np.array(0x5EADBEE55EADBEE7, np.uint64),
        "short": np.array(0x5EAD, np.uint16),
        "ushort": np.array(0x5EAD, np.uint16),
        "char": np.array(0x5E, np.uint8),
        "uchar": np.array(0x5E, np.uint8),
    },
    {
        "float": np.array(0x7FD5A5A7, np.uint32),
        "half": np.array(0x7E93, np.uint16),
        "bfloat": np.array(0x7FD3, np.uint16),
        "int": np.array(0xA1B2C3D7, np.uint32),
        "long": np.array(0xA1B2C3D7A1B2C3D9, np.uint64),
        "short": np.array(0xA1B2, np.uint16),
        "ushort": np.array(0xA1B2, np.uint16),
        "char": np.array(0xA1, np.uint8),
        "uchar": np.array(0xA1, np.uint8),
    },
)

GUARD = np.array(0xA7, np.uint8)


def outputs(plan: Plan) -> tuple[Buffer, ...]:
    """The output buffers of a plan: one, or one for each component of a tuple."""
    found = tuple(buffer for buffer in plan.buffers if buffer.role is Role.OUTPUT)
    if not found:
        raise ValueError("expected a plan with an output buffer, found none")
    return found


def value_of(buffers: Sequence[Buffer], results: Sequence[Any]) -> Any:
    """The value that the arrays in the output buffers make up: the array of the only output, or a
    tuple. Names give the place in it: `out.1.0` and `out.1.1` are the components of component 1."""
    paths = [tuple(map(int, buffer.name.split(".")[1:])) for buffer in buffers]
    if len(results) == 1 or not all(paths):
        return results[0] if len(results) == 1 else tuple(results)
    return _nested([*zip(paths, results, strict=True)])


def _nested(parts: Sequence[tuple[tuple[int, ...], Any]]) -> Any:
    if len(parts) == 1 and not parts[0][0]:
        return parts[0][1]
    groups = groupby(parts, key=lambda part: part[0][0])
    return tuple(_nested([(path[1:], array) for path, array in same]) for _, same in groups)


def names(plan: Plan, role: Role) -> tuple[str, ...]:
    return tuple(buffer.name for buffer in plan.buffers if buffer.role is role)


def with_roles(plan: Plan, *roles: Role) -> dict[str, Buffer]:
    """The buffers of a plan that have one of these roles, by name."""
    return {buffer.name: buffer for buffer in plan.buffers if buffer.role in roles}


def accept(expected: Mapping[str, Buffer], given: Mapping[str, Data]) -> dict[str, Array]:
    """The arrays `given` for the buffers `expected`, by name, contiguous, ready to be uploaded; a
    UserError for an unknown name, or for another type or shape than the buffer's."""
    found = {}
    for name, data in given.items():
        for part, array in _apart(name, data) if isinstance(data, tuple) else ((name, data),):
            if part not in expected:
                raise no_such("input", part, expected, of="the plan")
            found[part] = _fitting(expected[part], array)
    return found


def _apart(name: str, data: Data) -> Iterator[tuple[str, Any]]:
    """The pairs (buffer name, array) in `data`; component k of a tuple is called name.k."""
    if isinstance(data, tuple):
        for k, part in enumerate(data):
            yield from _apart(f"{name}.{k}", part)
    else:
        yield name, data


def require(expected: tuple[str, ...], given: Mapping[str, object], what: str) -> None:
    """Raise a UserError if some of the `expected` names are not `given`; its message begins with
    `what` they are, and lists the missing and the expected names."""
    missing = [name for name in expected if name not in given]
    if missing:
        raise UserError(f"{what} {_listed(missing)} missing: expected {_listed(expected)}")


def _fitting(buffer: Buffer, given: object) -> Array:
    array = given if isinstance(given, np.ndarray) else _as_numpy(buffer, given)
    demand_kind(buffer, array.dtype, array.shape)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def demand_kind(buffer: Buffer, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Raise a UserError if an array has another type or shape than the buffer."""
    if dtype != DTYPES[buffer.scalar] or shape != buffer.shape:
        raise UserError(f"'{buffer.name}' is {dtype} {list(shape)}, expected {_kind(buffer)}")


def _as_numpy(buffer: Buffer, given: object) -> Array:
    """The NumPy array of `given`, an array of another library, by `__array__` or DLPack: without a
    copy where it lies in the host's memory."""
    kind = type(given).__name__
    try:
        if hasattr(given, "__array__"):
            return np.asarray(given)
        if hasattr(given, "__dlpack__"):
            return np.from_dlpack(given)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise UserError(f"'{buffer.name}' is a {kind} that gives no array: {error}") from error
    raise UserError(f"'{buffer.name}' is a {kind}, expected an array of {_kind(buffer)}")


def _kind(buffer: Buffer) -> str:
    return f"{DTYPES[buffer.scalar]} {list(buffer.shape)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


def poisoned(buffer: Buffer, array: Array, which: int) -> Array:
    """The mask of the elements whose bits are those of poison `which`: they were not written, or
    happen to hold it; other NaNs do not count."""
    poison = POISONS[which][buffer.scalar]
    return np.asarray(array.view(poison.dtype) == poison)


def refuse_poison(buffer: Buffer, left: Array) -> None:
    """Raise `PoisonFound` if `left`, a mask of a buffer's elements, marks any of them. It marks
    those that held the first poison after a run with the first, and the second poison after a run
    with the second."""
    if left.any():
        first = tuple(int(i) for i in np.argwhere(left)[0])
        raise PoisonFound(buffer.name, int(left.sum()), first)


def first_change(band: Array) -> int | None:
    """The first position where a guard band lost its pattern; None if it holds everywhere."""
    changed = np.flatnonzero(band != GUARD)
    return int(changed[0]) if changed.size else None
