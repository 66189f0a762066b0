"""Records read from JSON: every field is checked, since a run's folder may come from anybody."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from codegen.plan import Buffer, Kernel, Plan, Role
from explore.options.stored_fields import LARGEST, LONG, PLAIN, TEXT, Damaged, Fields
from explore.results.kernel_code import code_from
from explore.results.records import (
    CLOCKS,
    STAGES,
    Begun,
    Failed,
    Features,
    Measured,
    Outcome,
    Peer,
    Predicted,
    Record,
    Step,
    Variant,
)
from ir.core.types import BYTES

ID = re.compile(r"[a-z][a-z0-9-]{0,60}-[0-9a-f]{8}")
FAMILY = re.compile(r"[a-z][a-z0-9-]{0,60}")
TRAIT = re.compile(r"[A-Za-z0-9-]{1,40}")
FORM = re.compile(r"|[A-Za-z0-9-]{1,40}( [A-Za-z0-9-]{1,40}){0,30}")
KEY = re.compile(r"[0-9a-f]{64}|[a-z][a-z0-9-]{0,60}-[0-9a-f]{8}")
BUFFER = re.compile(rf"{PLAIN.pattern}(\.[0-9]{{1,4}}){{0,9}}")  # `xs.0`: component 0 of a tuple
FEATURE = re.compile(r"[a-z][A-Za-z0-9_ ]{0,99}")
YEAR_9999 = 253_402_300_000.0  # seconds since 1970: no date is later
NEVER = 1e15  # nanoseconds: eleven days
FEW, SOME, STEPS = 64, 4096, 1 << 16  # kernels of a plan; its buffers; steps of a derivation


def from_line(line: str) -> Record:
    """The record in a line of JSON that `to_line` wrote."""
    return from_json(json.loads(line))


def from_json(values: Mapping[str, Any]) -> Record:
    """The record in values that `to_json` gave; raises Damaged if they are no outcome of a
    variant."""
    fields = Fields.of(dict(values), "outcome")
    fields = Fields(fields.values, f"outcome {fields.matching('id', ID, 'the name of a variant')}")
    return Record(
        variant_from(fields),
        outcome_from(fields),
        elapsed_s=fields.number("elapsed_s", most=YEAR_9999),
        unix_s=fields.number("unix_s", most=YEAR_9999),
        round=fields.whole("round", most=1 << 30),
    )


def plan_from(fields: Fields) -> Plan:
    """The plan in fields that `plan_json` gave; raises Damaged if they are no plan."""
    buffers = tuple(map(_buffer, fields.objects("buffers", most=SOME)))
    names = frozenset(buffer.name for buffer in buffers)
    return Plan(
        kernels=tuple(_kernel(kernel, names) for kernel in fields.objects("kernels", most=FEW)),
        buffers=buffers,
        memory_bytes=fields.whole("memory_bytes"),
        workspace_bytes=fields.whole("workspace_bytes"),
    )


def peer_from(fields: Fields) -> Peer:
    """The measurement of a peer in stored fields; raises Damaged if they hold none."""
    return Peer(
        name=fields.text("name"),
        time_ns=fields.number("time_ns", most=NEVER),
        memory_bytes=fields.maybe("memory_bytes", fields.whole),
        spread=fields.number("spread"),
        note=fields.text("note", most=LONG),
        yardstick_ns=fields.maybe("yardstick_ns", lambda n: fields.number(n, 1.0, NEVER)),
        precision=fields.given("precision", fields.text, "float"),
        ours_ns=fields.maybe("ours_ns", lambda n: fields.number(n, most=NEVER)),
    )


def variant_from(fields: Fields) -> Variant:
    """The variant in fields that `variant_json` gave; raises Damaged if they are no variant."""
    parameters = fields.fields("parameters")
    return Variant(
        id=fields.matching("id", ID, "the name of a variant"),
        family=fields.matching("family", FAMILY, "the name of a family"),
        parameters=tuple((p, parameters.whole(p)) for p in parameters.named()),
        stored=tuple(e.matching("value", FAMILY, "a view") for e in fields.each("stored", FEW)),
        form=fields.matching("form", FORM, "the words of a form"),
        traits=tuple(e.matching("value", TRAIT, "a trait") for e in _list(fields, "traits")),
        tile=fields.maybe("tile", lambda n: fields.whole(n, least=1, most=SOME)),
        derivation=steps_from(fields, "derivation"),
        plan=plan_from(fields) if any(fields.each("kernels", most=FEW)) else None,
        flops=fields.maybe("flops", fields.whole),
        traffic_bytes=fields.maybe("traffic_bytes", fields.whole),
        chip_bytes=fields.maybe("chip_bytes", fields.whole),
        bank_conflicts=fields.maybe("bank_conflicts", fields.whole),
        known_error=fields.maybe("known_error", lambda n: fields.number(n, most=1e300)),
        rounding=fields.given("rounding", lambda n: fields.maybe(n, fields.number), None),
        block=fields.maybe("block", fields.whole),
        features=tuple(map(_features, fields.objects("features", most=FEW))),
    )


def _list(fields: Fields, name: str) -> list[Fields]:
    """The entries of the list `name`; none if it is missing, as in runs of older versions."""
    return [] if fields.values.get(name) is None else list(fields.each(name, most=FEW))


def steps_from(fields: Fields, name: str) -> tuple[Step, ...]:
    """The steps of a derivation in the list `name`."""
    return tuple(map(_step, fields.objects(name, most=STEPS)))


def _step(fields: Fields) -> Step:
    stages = () if fields.values.get("stages") is None else fields.objects("stages", most=FEW)
    return Step(
        law=fields.text("law"),
        place=fields.text("place", LONG),
        term=fields.text("term", LONG),
        stages=tuple(map(_begun, stages)),
    )


def _begun(fields: Fields) -> Begun:
    return Begun(
        name=fields.text("name"),
        steps=fields.whole("steps", least=1, most=STEPS),
        before=fields.text("before"),
        after=fields.text("after"),
    )


def _features(fields: Fields) -> Features:
    """The features of a kernel, a number for each name; null stands for a number that is not
    finite."""
    if len(fields.values) > FEW:
        found = len(fields.values)
        raise Damaged(f"{fields.what}: expected at most {FEW} features, found {found}")
    if strange := [name for name in fields.values if not FEATURE.fullmatch(name)]:
        raise Damaged(f"{fields.what}: expected names of features, found {strange[0]!a:.60}")
    return tuple((name, _any_number(fields, name)) for name in fields.values)


def _any_number(fields: Fields, name: str) -> float:
    value = fields.maybe(name, lambda n: fields.number(n, least=-1e300, most=1e300))
    return math.nan if value is None else value


def outcome_from(fields: Fields) -> Outcome:
    """The outcome of a variant in fields that `outcome_json` gave; raises Damaged for any other
    fields."""
    match fields.one_of("status", ("measured", "failed", "predicted")):
        case "measured":
            return _measured(fields)
        case "failed":
            return Failed(
                fields.one_of("stage", STAGES),
                fields.text("reason", LONG),
                fields.text("detail", TEXT),
                fields.flag("timed_out"),
                fields.maybe("error", lambda n: fields.number(n, most=1e300)),
            )
        case _:
            return _predicted(fields)


def _predicted(fields: Fields) -> Predicted:
    """The prediction in stored fields, without code in runs of older versions; raises Damaged if
    they hold none."""
    code = () if fields.values.get("code") is None else fields.objects("code", most=FEW)
    return Predicted(
        _time(fields, "time_ns"),
        tuple(map(code_from, code)),
        fields.maybe("least_ns", lambda n: _time(fields, n)),
        fields.maybe("most_ns", lambda n: _time(fields, n)),
    )


def _measured(fields: Fields) -> Measured:
    return Measured(
        time_ns=_time(fields, "time_ns"),
        spread=fields.number("spread"),
        error=fields.maybe("error", lambda n: fields.number(n, most=1e300)),
        prepack_ns=_time(fields, "prepack_ns"),
        build_ns=_time(fields, "build_ns"),
        code_bytes=fields.maybe("code_bytes", fields.whole),
        runs_ns=tuple(_time(entry, "value") for entry in fields.each("runs_ns", most=SOME)),
        kernels_ns=tuple(_time(entry, "value") for entry in fields.each("kernels_ns", most=FEW)),
        stopped_early=fields.flag("stopped_early"),
        clock=fields.one_of("clock", CLOCKS),
        yardstick_ns=fields.maybe("yardstick_ns", lambda n: fields.number(n, 1.0, NEVER)),
        slowdown=fields.number("slowdown", 1e-6, 1e6),
    )


def _time(fields: Fields, name: str) -> float:
    return fields.number(name, most=NEVER)


def _buffer(fields: Fields) -> Buffer:
    return Buffer(
        name=_buffer_name(fields, "name"),
        scalar=fields.one_of("scalar", tuple(BYTES)),
        shape=tuple(entry.whole("value") for entry in fields.each("shape", most=FEW)),
        bytes=fields.whole("bytes"),
        role=Role(fields.one_of("role", tuple(role.value for role in Role))),
        offset=fields.maybe("offset", fields.whole),
    )


def _kernel(fields: Fields, buffers: frozenset[str]) -> Kernel:
    arguments = tuple(_buffer_name(entry, "value") for entry in fields.each("arguments", most=SOME))
    if strange := sorted({*arguments} - buffers):
        raise Damaged(f"{fields.what}: arguments: expected its buffers, found {strange[0]}")
    return Kernel(
        name=fields.matching("name", PLAIN, "a plain name"),
        global_size=_three(fields, "global_size"),
        local_size=_three(fields, "local_size"),
        arguments=arguments,
        prepack=fields.flag("prepack"),
        text=fields.exact_text("text"),
        needs=tuple(entry.exact_text("value") for entry in fields.each("needs", most=SOME)),
    )


def _buffer_name(fields: Fields, name: str) -> str:
    return fields.matching(name, BUFFER, "a plain name, or that of a component of a tuple")


def _three(fields: Fields, name: str) -> tuple[int, int, int]:
    sizes = [entry.whole("value", least=1, most=LARGEST) for entry in fields.each(name, most=3)]
    if len(sizes) != 3:
        raise Damaged(f"{fields.what}: {name}: expected three numbers, found {len(sizes)}")
    return sizes[0], sizes[1], sizes[2]
