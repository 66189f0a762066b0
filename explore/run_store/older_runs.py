"""Outcomes that older versions stored, as this one would have stored them.

A format is named by SQLite's `user_version`. Each function here takes the fields of an outcome from
one format to the next. A run that is read goes through those from its format on; its file is not
changed.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Fields: TypeAlias = Mapping[str, Any]

NEWEST = 6


def _from_3(fields: Fields) -> Fields:
    """The fields of an outcome of format 3 as format 4 stores them: the same. (Format 3 had no
    table for lost forms.)"""
    return fields


def _from_4(fields: Fields) -> Fields:
    """The fields of an outcome of format 4 as format 5 stores them: format 4 had one clock, that of
    the device, and no yardstick."""
    clock = "device" if fields.get("status") == "measured" else None
    return {**fields, "clock": clock, "yardstick_ns": None, "slowdown": 1.0}


def _from_5(fields: Fields) -> Fields:
    """The fields of an outcome of format 5 as format 6 stores them: the same, but that format 5
    has the steps of a derivation in each outcome, and format 6 their number."""
    return fields


_STEPS: Mapping[int, Callable[[Fields], Fields]] = {3: _from_3, 4: _from_4, 5: _from_5}
READ = (*_STEPS, NEWEST)  # the formats that can be read
ABSENT: Mapping[int, frozenset[str]] = {  # tables, by format
    3: frozenset({"lost_form", "derivation"}),
    4: frozenset({"derivation"}),
    5: frozenset({"derivation"}),
}


def brought_up(fields: Fields, version: int) -> dict[str, Any]:
    """The fields of an outcome stored in format `version`, converted to the newest format."""
    for step in range(version, NEWEST):
        fields = _STEPS[step](fields)
    return dict(fields)
