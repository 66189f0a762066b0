"""The file of results of a board, read line by line: what is claimed of the device and of each
variant. It may come from anybody: each value is checked, and nothing of it is run."""

import re
from collections.abc import Sequence
from pathlib import Path

from codegen.runtime.devices import Device
from explore.board.messages import device_from
from explore.options.stored_fields import LONG, Damaged, Fields, loaded
from explore.results.read_record import ID, NEVER
from explore.results.records import Stage
from ir.core.frozen import frozen
from ir.errors import UserError

FORMAT = 1
LARGEST = 1 << 26  # bytes of a file
LINE = 1 << 20  # characters of a line
MOST = 4096  # lines
OUTPUTS, SAMPLES, RUNS = 64, 64, 64  # results of a program; samples of each; times
SHA256 = re.compile("[0-9a-f]{64}")
STAGES: tuple[Stage, ...] = ("build", "run")


@frozen
class Host:
    """The device that a board claims to have, the hash of the program that it was given, those of
    its inputs (`inputs` of real numbers, `whole` of whole ones), and the time of an empty
    launch."""

    device: Device
    program: str
    inputs: tuple[str, ...]  # the sha256 of each, of real numbers
    whole: tuple[str, ...]  # and of whole ones
    launch_ns: float


@frozen
class Ran:
    """The claims on a variant that ran: its times, its error and samples for real numbers, hashes
    (`exact`) and samples for whole ones. `text` is the hash of its kernels' text; a sample is None
    where the result was no finite number."""

    id: str
    text: str
    build_ns: float
    prepack_ns: float
    runs_ns: tuple[float, ...]
    error: float | None
    samples: tuple[tuple[float | None, ...], ...]
    exact: tuple[str, ...]
    whole_samples: tuple[tuple[float | None, ...], ...]


@frozen
class DidNot:
    """The claims on a variant that did not run: the stage at which it failed, and the reason.
    `text` is the hash of its kernels' text."""

    id: str
    text: str
    stage: Stage
    reason: str


@frozen
class Claims:
    """All claims of a file: on the device, and on each variant once. `cut_off` tells that its last
    line ends before its end, as if the board had stopped there; this line is left out."""

    host: Host
    variants: tuple[Ran | DidNot, ...]
    cut_off: bool = False


def claims_in(file: Path) -> Claims:
    """The claims of a file; raises a UserError for one that is no file of results."""
    hosts, found = list[Host](), dict[str, Ran | DidNot]()
    lines, rest = _lines(file)
    if whole := _is_whole(rest):
        lines.append(rest)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields = loaded(line, f"{file}, line {number}", LINE)
        if "bundle" in fields.values:
            hosts.append(_host(fields))
        elif "begun" not in fields.values:
            claim = _claim(fields)
            if claim.id in found:
                raise Damaged(f"{fields.what}: expected {claim.id} once, found it twice")
            found[claim.id] = claim
    if not hosts or not found:
        what = "a line of the device" if not hosts else "a variant"
        raise Damaged(f"{file}: expected {what}, found none")
    _demand_one(hosts, file)
    return Claims(hosts[0], tuple(found.values()), cut_off=bool(rest) and not whole)


def _is_whole(line: str) -> bool:
    """True if a line without its end is whole: no part of an object is JSON."""
    try:
        loaded(line, "line", LINE)
    except Damaged:
        return False
    return True


def _demand_one(hosts: Sequence[Host], file: Path) -> None:
    """Raise Damaged unless all `hosts`, one for each time that the bundle was started, are the same
    device, program and inputs."""
    for other in hosts[1:]:
        one = hosts[0]
        if (other.device, other.inputs) != (one.device, one.inputs) or other.program != one.program:
            raise Damaged(
                f"{file}: expected one device, program and inputs at each start of the bundle, "
                f"found others: {one.device.name} with driver {one.device.driver} at the first, "
                f"{other.device.name} with driver {other.device.driver} at a later one"
            )


def _lines(file: Path) -> tuple[list[str], str]:
    """The lines of a file, and what stands after the end of the last one."""
    try:
        if not file.is_file():
            raise UserError(f"expected a file of results, found {file}, which is no file")
        with file.open("rb") as held:
            data = held.read(LARGEST + 1)
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from None
    if len(data) > LARGEST:
        raise Damaged(f"{file}: expected at most {LARGEST} bytes, found more")
    *lines, rest = data.decode("utf-8-sig", "replace").split("\n")
    if len(lines) > MOST:
        raise Damaged(f"{file}: expected at most {MOST} lines, found {len(lines)}")
    return lines, rest


def _host(fields: Fields) -> Host:
    fields.whole("bundle", FORMAT, FORMAT)
    device = device_from(fields.fields("device"))
    for name in ("compute_units", "max_work_group", "local_bytes", "global_bytes"):
        if not getattr(device, name):
            raise Damaged(f"{fields.what}: device: {name}: expected at least 1, found 0")
    if len(device.max_work_item_sizes) != 3 or not all(device.max_work_item_sizes):
        raise Damaged(f"{fields.what}: device: expected three sizes of a group")
    return Host(
        device,
        fields.matching("program", SHA256, "a sha256"),
        _hashes(fields, "inputs"),
        _hashes(fields, "whole"),
        fields.number("launch_ns", 1.0, NEVER),
    )


def _claim(fields: Fields) -> Ran | DidNot:
    id = fields.matching("id", ID, "the name of a variant")
    text = fields.matching("text", SHA256, "a sha256")
    if fields.one_of("status", ("measured", "failed")) == "failed":
        stage = fields.one_of("stage", STAGES)
        return DidNot(id, text, stage, fields.text("reason", LONG).strip() or "no reason is given")
    runs = tuple(e.number("value", 1.0, NEVER) for e in fields.each("runs_ns", RUNS))
    if not runs:
        raise Damaged(f"{fields.what}: runs_ns: expected times, found none")
    return Ran(
        *(id, text),
        fields.number("build_ns", most=NEVER),
        fields.number("prepack_ns", most=NEVER),
        runs,
        fields.maybe("error", lambda n: fields.number(n, most=1e300)),
        _samples(fields, "samples"),
        _hashes(fields, "exact"),
        _samples(fields, "whole_samples"),
    )


def _hashes(fields: Fields, name: str) -> tuple[str, ...]:
    entries = fields.each(name, OUTPUTS)
    return tuple(entry.matching("value", SHA256, "a sha256") for entry in entries)


def _samples(fields: Fields, name: str) -> tuple[tuple[float | None, ...], ...]:
    return tuple(
        tuple(_sample(e) for e in entry.each("value", SAMPLES))
        for entry in fields.each(name, OUTPUTS)
    )


def _sample(entry: Fields) -> float | None:
    return entry.maybe("value", lambda n: entry.number(n, -1e300, 1e300))
