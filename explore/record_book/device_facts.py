"""The facts of a device that take seconds to find: its limits, measured, and the instructions that
it carries out, tried."""

import json
from collections.abc import Mapping
from functools import partial

from explore.options.stored_fields import loaded
from explore.results.read_record import NEVER
from ir.core.frozen import frozen
from ir.instructions.table import TABLE

LIMITS = (
    *("peak_flops", "bandwidth", "launch_ns", "event_ns"),
    *("yardstick_ns", "yardstick_operations"),
)


@frozen
class DeviceFacts:
    """The limits of a device by their names in `Bounds`, None for what could not be measured, and
    the names of its instructions."""

    limits: Mapping[str, float | None]
    instructions: tuple[str, ...]

    def dump(self) -> str:
        """The facts as JSON."""
        return json.dumps({"limits": dict(self.limits), "instructions": [*self.instructions]})


def facts_from(text: str) -> DeviceFacts:
    """The facts of a device in a text that `dump` made; raises Damaged for any other text."""
    found = loaded(text, "facts")
    limits = found.fields("limits")
    number = partial(limits.number, most=NEVER * 1e3)
    names = (e.one_of("value", tuple(TABLE)) for e in found.each("instructions", len(TABLE)))
    return DeviceFacts({name: limits.maybe(name, number) for name in LIMITS}, tuple(names))
