"""The entries of a record book: a variant's outcome, on which program and device, and by which
version."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from explore.options.stored_fields import LARGEST, LONG, Damaged, Fields, loaded
from explore.record_book.program_identity import Identity
from explore.results.read_record import from_json
from explore.results.record_json import to_json
from explore.results.records import Failed, Measured, Record, plan_key
from ir.core.frozen import frozen
from ir.program_file import LONGEST

MOST_SIZES, MOST_KINDS = 1 << 16, 256
DETAIL = 400  # characters of a build log that are kept


@frozen
class Place:
    """The facts of a device on which times depend: its name, platform, driver, and the limits it
    was assumed to have."""

    device: str
    platform: str
    driver: str
    limits: str  # JSON of the profile's numbers


@frozen
class Subject:
    """A program whose variants were measured: its identity, its name, and its text."""

    identity: Identity
    name: str
    program: str


@frozen
class Entry:
    """A variant's outcome as a record book keeps it, without plan and derivation, which are made
    again when needed. `here` is false if it was measured elsewhere and merged. `kernels` is the key
    of the variant's kernels."""

    subject: Subject
    place: Place
    version: str
    record: Record
    memory_bytes: int | None
    workspace_bytes: int | None
    kernels: str
    here: bool = True

    @property
    def time_ns(self) -> float | None:
        """The variant's time in nanoseconds; None if it failed or was given up."""
        outcome = self.record.outcome
        done = isinstance(outcome, Measured) and not outcome.stopped_early
        return self.record.time_ns if done else None


def entry_of(record: Record, subject: Subject, place: Place, version: str) -> Entry:
    """The entry of a record that was measured here, by this version; plan, derivation and long
    messages are left out."""
    variant, outcome = record.variant, record.outcome
    if isinstance(outcome, Failed):
        outcome = replace(outcome, detail=outcome.detail[:DETAIL])
    if isinstance(outcome, Measured):
        outcome = replace(outcome, runs_ns=())
    kernels = "" if variant.plan is None else plan_key(variant.plan)
    short = replace(record, variant=replace(variant, plan=None, derivation=()), outcome=outcome)
    amounts = record.memory_bytes, record.workspace_bytes
    return Entry(subject, place, version, short, *amounts, kernels)


def details(entry: Entry) -> dict[str, Any]:
    """The details of an entry as a JSON object: its record, its memory, and the key of its
    kernels."""
    return to_json(entry.record) | {
        "memory_bytes": entry.memory_bytes,
        "workspace_bytes": entry.workspace_bytes,
        "key": entry.kernels,
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    """The entry as a JSON object, of the form in which books are exported."""
    identity = entry.subject.identity
    return {
        "shape": identity.shape,
        "sizes": list(identity.sizes),
        "kinds": dict(identity.kinds),
        "name": entry.subject.name,
        "program": entry.subject.program,
        "device": entry.place.device,
        "platform": entry.place.platform,
        "driver": entry.place.driver,
        "limits": entry.place.limits,
        "version": entry.version,
        "record": details(entry),
    }


def entry_from(values: Mapping[str, Any], here: bool = False) -> Entry:
    """The entry in an object that `entry_json` made; raises Damaged for any other object. `here` is
    false if the entry counts as measured elsewhere."""
    fields = Fields.of(dict(values), "record")
    record, details = fields.fields("record"), dict(fields.fields("record").values)
    kernels = record.given("key", lambda n: record.text(n, 64), "")
    found = from_json({**details, "kernels": [], "buffers": [], "derivation": []})
    return Entry(
        Subject(identity_from(fields), fields.text("name"), fields.exact_text("program", LONGEST)),
        place_from(fields),
        fields.text("version"),
        found,
        record.maybe("memory_bytes", record.whole),
        record.maybe("workspace_bytes", record.whole),
        kernels,
        here,
    )


def identity_from(fields: Fields) -> Identity:
    """The identity of a program in stored fields; raises Damaged if they hold none."""
    shape = fields.exact_text("shape", 64)
    if len(shape) != 64 or not shape.isalnum():
        raise Damaged(f"{fields.what}: shape: expected a sha256, found {shape[:20]!a}")
    sizes = tuple(e.whole("value", -LARGEST) for e in fields.each("sizes", MOST_SIZES))
    kinds = fields.fields("kinds")
    if len(kinds.values) > MOST_KINDS:
        raise Damaged(
            f"{fields.what}: kinds: expected at most {MOST_KINDS}, found {len(kinds.values)}"
        )
    return Identity(shape, sizes, {name: kinds.whole(name) for name in kinds.values})


def place_from(fields: Fields) -> Place:
    """The place (a device and its limits) in stored fields; raises Damaged if they hold none. The
    limits must be an object of whole numbers in lists."""
    limits = fields.exact_text("limits", LONG)
    for name, numbers in loaded(limits, "limits").values.items():
        if not isinstance(numbers, list) or not all(isinstance(n, int) for n in numbers):
            raise Damaged(f"limits: {name[:40]!a}: expected a list of whole numbers")
    return Place(fields.text("device"), fields.text("platform"), fields.text("driver"), limits)
