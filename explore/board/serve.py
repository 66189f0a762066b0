"""The server of a board: it listens, admits callers that know the token, and measures the variants
that they send.

A caller sends OpenCL text to be built and run. So the server listens on loopback only, unless it is
told otherwise."""

from collections.abc import Mapping
from functools import partial
from itertools import count, takewhile
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from typing import Any

from codegen.runtime.devices import Device
from codegen.runtime.session import open_device
from explore.board.admission import LIMIT, admitted
from explore.board.messages import (
    MOST_ARRAYS,
    Array,
    Message,
    answered,
    device_json,
    receive,
    send,
    task_from,
)
from explore.measure.instruction_worker import instructions_in_time
from explore.measure.measure_tasks import RUN_LIMIT
from explore.measure.measure_variant import Meter, measure, meter_of
from explore.measure.reference import Expected, Reference
from explore.measure.roofline import measured as roofline
from explore.options.stored_fields import Damaged, Fields
from explore.results.records import Failed
from explore.results.version import version
from explore.workers.pool import Pool
from ir.core.frozen import frozen
from ir.errors import UserError

PORT = 8787
INPUT, WHOLE = "input.", "whole."  # before the names of arrays
RIGHT, EXACT = "right.", "exact."  # before the numbers of results


@frozen
class Given:
    """The things that a run sends to a board once: two complete sets of inputs by name, one of real
    numbers (`inputs`) and one of whole numbers (`whole`); the names of the inputs that vary from
    run to run; the right results for both sets (for whole numbers only where they are exact); and
    the largest error of a right result."""

    inputs: dict[str, Array]
    whole: dict[str, Array]
    varying: tuple[str, ...]
    reference: Reference
    max_error: float


def given_message(given: Given) -> Message:
    """The message with the things that a run sends to a board once."""
    right, arrays = given.reference, dict[str, Array]()
    arrays |= {f"{INPUT}{name}": array for name, array in given.inputs.items()}
    arrays |= {f"{WHOLE}{name}": array for name, array in given.whole.items()}
    exact = right.exact or ()
    arrays |= {f"{RIGHT}{k}": output for k, output in enumerate(right.outputs)}
    arrays |= {f"{EXACT}{k}": meant.output for k, meant in enumerate(exact)}
    fields = {
        "varying": list(given.varying),
        "max_error": given.max_error,
        "exact": [{"scale": meant.scale, "rounding": meant.rounding} for meant in exact],
    }
    return Message("given", fields, arrays)


def given_from(message: Message) -> Given:
    """The things that a run sends to a board once, read from a message; raises Damaged for any
    other message."""
    fields, arrays = message.checked, message.arrays
    outputs, meant = _numbered(arrays, RIGHT), _numbered(arrays, EXACT)
    scales = [_scale(entry) for entry in fields.objects("exact", MOST_ARRAYS)]
    if not outputs or len(meant) != len(scales) or len(meant) not in (0, len(outputs)):
        raise Damaged(
            "given: expected an array or more of right results, and as many exact ones with scales "
            f"or none; found {len(outputs)}, {len(meant)} and {len(scales)}"
        )
    exact = tuple(Expected(out, *scale) for out, scale in zip(meant, scales, strict=True))
    inputs = _named(arrays, INPUT)
    varying = tuple(e.exact_text("value", 300) for e in fields.each("varying", 256))
    if not inputs.keys() >= set(varying) or inputs.keys() != _named(arrays, WHOLE).keys():
        raise Damaged(
            "given: expected each input twice, of real and of whole numbers; found "
            f"{', '.join(inputs)} and {', '.join(_named(arrays, WHOLE))}"
        )
    right = Reference(outputs, exact or None)
    return Given(inputs, _named(arrays, WHOLE), varying, right, fields.number("max_error"))


def _numbered(arrays: Mapping[str, Array], prefix: str) -> tuple[Array, ...]:
    """The arrays whose names are the prefix and 0, 1, …, up to the first number that is missing."""
    names = takewhile(arrays.__contains__, (f"{prefix}{k}" for k in count()))
    return tuple(arrays[name] for name in names)


def _scale(entry: Fields) -> tuple[float, float]:
    return entry.number("scale", most=1e300), entry.number("rounding", most=1e300)


def _named(arrays: Any, prefix: str) -> dict[str, Array]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def serve(
    device: Device,
    host: str,
    port: int,
    token: bytes,
    rounds: int | None = None,
    patience: float = LIMIT,
) -> None:
    """Serve runs one after the other: `rounds` of them, or for ever if that is None. A caller has
    `patience` seconds to prove that it knows the token. A run that breaks off, says nothing, or
    does not know the token, does not end the server."""
    with Listener((host, port)) as listener:
        print(f"serving {device.name} on {listener.address[0]}:{listener.address[1]}", flush=True)
        served = 0
        while rounds is None or served < rounds:
            try:
                connection = listener.accept()
                admitted(connection, token, patience)
            except (AuthenticationError, AssertionError, EOFError, OSError) as error:
                print(f"somebody was not admitted: {type(error).__name__}", flush=True)
                continue
            served += 1
            with connection:
                _served(device, connection)


def _served(device: Device, connection: "Connection[Any, Any]") -> None:
    """Serve one run on its connection until the run closes the connection."""
    pool: Pool[Any, Any] | None = None
    try:
        send(connection, Message("hello", {"version": version(), "device": device_json(device)}))
        while True:
            message = receive(connection)
            match message.kind:
                case "limits":
                    send(connection, Message("limits", dict(roofline(device))))
                case "instructions":
                    send(connection, _instructions(device))
                case "given":
                    if pool is not None:
                        pool.close()
                    pool = _pool(device, given_from(message))
                    send(connection, Message("ready"))
                case "measure" | "again" if pool is not None:
                    task, limit = task_from(message)
                    pool.submit(task, limit)
                    (done,) = pool.results()
                    send(connection, answered(done.result))
                case other:
                    raise Damaged(
                        f"message: expected a kind that boards answer, found {other!a:.40}"
                    )
    except Damaged as error:
        print(f"a run was dismissed: {error.message}", flush=True)
    except (EOFError, OSError):
        pass
    except Exception as error:  # whatever a caller brings about, the next one is served
        print(f"a run was dismissed: {type(error).__name__}: {error}", flush=True)
    finally:
        if pool is not None:
            pool.close()


def _instructions(device: Device) -> Message:
    """The message with the names of the device's instructions, or, if the device hangs or dies when
    they are tried, with the reason (`refused`)."""
    try:
        return Message("instructions", {"names": list(instructions_in_time(device))})
    except UserError as error:
        print(error.message, flush=True)
        return Message("refused", {"reason": error.message})


def _pool(device: Device, given: Given) -> "Pool[Any, Any]":
    return Pool(
        _measured, workers=1, timeout=RUN_LIMIT, stage="run", setup=partial(_meter, device, given)
    )


def _meter(device: Device, given: Given) -> Meter:
    return meter_of(
        device,
        open_device(device),
        (given.inputs, given.whole),
        given.varying,
        given.reference,
        given.max_error,
    )


def _measured(state: Meter, task: Any) -> Any:
    """The result of a task, carried out by the meter `state`. It is a Failed if the texts of the
    task's kernels do not fit their launches, which is the sender's mistake."""
    try:
        return measure(state, task)
    except (ValueError, KeyError) as error:
        return Failed("run", f"{type(error).__name__}: {error}".splitlines()[0])
