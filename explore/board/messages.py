"""The messages between a run and a board: a JSON object and arrays, as bytes. Nothing is unpickled:
a message is checked while it is read, and can ask for a few things only."""

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import asdict, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codegen.runtime.devices import Device
from explore.measure.measure_tasks import Again, Measure, Passes
from explore.options.stored_fields import Damaged, Fields, loaded
from explore.results.pace import Reading
from explore.results.read_record import NEVER, outcome_from, plan_from
from explore.results.record_json import outcome_json, plan_json
from explore.results.records import Failed, Measured
from ir.core.frozen import frozen

Array = NDArray[Any]
MOST = 1 << 32  # bytes of a message: inputs and right results of a layer
HEADER = 1 << 27  # bytes of JSON
MOST_ARRAYS, MOST_PLANS = 256, 256
DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "uint16", "int8", "uint8")
_LENGTH = struct.Struct(">I")


@frozen
class Message:
    """A message: a word for its kind, its fields as plain values, and its arrays by name."""

    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)

    @property
    def checked(self) -> Fields:
        """A reader of the message's fields, which checks the type of each."""
        return Fields.of(dict(self.fields), self.kind)


def send(connection: "Connection[Any, Any]", message: Message) -> None:
    """Send a message as bytes."""
    arrays = {name: np.ascontiguousarray(a) for name, a in message.arrays.items()}
    about = [[name, a.dtype.name, list(a.shape)] for name, a in arrays.items()]
    head = json.dumps({"kind": message.kind, "fields": message.fields, "arrays": about}).encode()
    body = b"".join(a.tobytes() for a in arrays.values())
    connection.send_bytes(_LENGTH.pack(len(head)) + head + body)


def receive(connection: "Connection[Any, Any]") -> Message:
    """The next message from a connection; raises Damaged for bytes that are no message."""
    data = connection.recv_bytes(MOST)
    if len(data) < _LENGTH.size:
        raise Damaged(f"message: expected {_LENGTH.size} bytes or more, found {len(data)}")
    (length,) = _LENGTH.unpack_from(data)
    start = _LENGTH.size + length
    if length > HEADER or start > len(data):
        raise Damaged(
            f"message: expected a head of at most {HEADER} bytes, all in the message; found a "
            f"head of {length} bytes in a message of {len(data)}"
        )
    head = loaded(data[_LENGTH.size : start].decode("utf-8", "replace"), "message", HEADER)
    arrays = _arrays(head, memoryview(data)[start:])
    return Message(head.text("kind", 40), head.fields("fields").values, arrays)


def _arrays(head: Fields, body: memoryview) -> dict[str, Array]:
    """The arrays, by name, that the head of a message describes, read from the bytes after it;
    Damaged if their lengths do not agree."""
    found: dict[str, Array] = {}
    for entry in head.each("arrays", MOST_ARRAYS):
        match entry.values["value"]:
            case [str(name), str(dtype), list(shape)] if dtype in DTYPES and _is_shape(shape):
                size = math.prod(shape) * np.dtype(dtype).itemsize
            case other:
                raise Damaged(
                    f"message: expected an array's name, type and shape, found {other!a:.80}"
                )
        if size > len(body):
            raise Damaged(f"message: array {name!a:.60}: expected {size} bytes, found {len(body)}")
        found[name] = np.frombuffer(body[:size], dtype).reshape(shape)
        body = body[size:]
    if len(body):
        raise Damaged(f"message: expected its end after its arrays, found {len(body)} more bytes")
    return found


def _is_shape(shape: list[Any]) -> bool:
    """True if a list from a message is the shape of an array, without elements or with fewer than
    any message has."""
    if len(shape) >= 32 or not all(type(n) is int and 0 <= n < 1 << 40 for n in shape):
        return False
    return bool(math.prod(max(n, 1) for n in shape) < 1 << 40)


# ---- what is asked, and what is answered


def asked(task: Measure | Again, limit: float) -> Message:
    """The message that asks a board to carry out a task, which may take `limit` seconds."""
    match task:
        case Measure():
            named = ("number", "ceiling_ns", "usual_ns", "build_ns", "rounding", "in_part")
            more = {name: getattr(task, name) for name in named}
            return Message("measure", {**more, "limit": limit, "plan": plan_json(task.plan)})
        case Again():
            plans = [plan_json(plan) for plan in task.plans]
            again = {"passes": task.passes, "limit_s": task.limit_s}
            return Message("again", {"plans": plans, **again, "limit": limit})


def task_from(message: Message) -> tuple[Measure | Again, float]:
    """The task that a message asks for, and the most seconds that it may take; raises Damaged for
    any other message."""
    fields = message.checked
    limit = fields.number("limit", most=3600.0)
    if message.kind == "again":
        plans = tuple(plan_from(plan) for plan in fields.objects("plans", MOST_PLANS))
        most = fields.maybe("limit_s", fields.number)
        return Again(plans, fields.whole("passes", 1, 100), most), limit
    return Measure(
        fields.whole("number"),
        plan_from(fields.fields("plan")),
        fields.maybe("ceiling_ns", lambda n: fields.number(n, most=NEVER)),
        fields.maybe("usual_ns", lambda n: fields.number(n, most=NEVER)),
        fields.number("build_ns", most=NEVER),
        fields.number("rounding"),
        fields.flag("in_part"),
    ), limit


def answered(result: Measured | Failed | Passes) -> Message:
    """The message with the result of a task."""
    if isinstance(result, Passes):
        return Message("passes", asdict(result))
    return Message("outcome", outcome_json(result))


def result_from(message: Message) -> Measured | Failed | Passes:
    """The result of a task in a message; raises Damaged for any other message."""
    fields = message.checked
    if message.kind == "passes":
        return Passes(
            tuple(tuple(map(_reading, _list(e))) for e in fields.each("readings", MOST_PLANS)),
            tuple(
                tuple(_time(n) for n in e.each("value", 64))
                for e in fields.each("kernels_ns", MOST_PLANS)
            ),
            fields.number("yardstick_ns", most=NEVER),
        )
    outcome = outcome_from(fields)
    if not isinstance(outcome, Measured | Failed):
        raise Damaged("outcome: expected that of a variant that was run, found a prediction")
    return outcome


def _list(entry: Fields) -> list[Fields]:
    return list(entry.objects("value", 100))


def _reading(fields: Fields) -> Reading:
    times = (fields.number(name, most=NEVER) for name in ("ns", "yardstick_ns"))
    return Reading(*times)


def _time(entry: Fields) -> float:
    return entry.number("value", most=NEVER)


def device_json(device: Device) -> dict[str, Any]:
    """The device as plain values, without the file of its OpenCL runtime."""
    return {**asdict(device), "library": ""}


def device_from(fields: Fields) -> Device:
    """The device in fields that `device_json` gave; raises Damaged for any other fields."""
    sizes = tuple(e.whole("value") for e in fields.each("max_work_item_sizes", 16))
    wholes = ("index", "compute_units", "max_work_group", "local_bytes", "global_bytes")
    more = ("max_alloc_bytes", "ordinal", "vector")
    flags = ("local_is_dedicated", "half", "simulator")
    return Device(
        max_work_item_sizes=sizes,
        kind=fields.one_of("kind", ("gpu", "cpu", "other")),
        library="",
        **{name: fields.whole(name) for name in (*wholes, *more)},  # type: ignore[arg-type]
        **{name: fields.line(name) for name in ("name", "platform")},  # type: ignore[arg-type]
        **{name: fields.line(name, may_be_empty=True) for name in ("version", "driver")},  # type: ignore[arg-type]
        **{name: fields.flag(name) for name in flags},  # type: ignore[arg-type]
        vpdpbusd=fields.given("vpdpbusd", fields.flag, False),  # not told by other programs
    )
