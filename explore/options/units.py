"""Bytes and times as people write and read them."""

import re

from ir.errors import UserError

_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_BYTES |= {"k": 2**10, "m": 2**20, "g": 2**30, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "": 1.0, "s": 1.0, "m": 60.0}
_SECONDS |= {"min": 60.0, "h": 3600.0}


def parse_bytes(text: str) -> int:
    """The number of bytes that a text such as `64MiB`, `1.5GB` or `4096` means."""
    number, unit = _number(text, _BYTES, "a size such as 64MiB")
    return int(number * _BYTES[unit])


def parse_seconds(text: str) -> float:
    """The number of seconds that a text such as `10m`, `90` or `250us` means."""
    number, unit = _number(text, _SECONDS, "a time such as 10m or 1.5ms")
    return number * _SECONDS[unit]


def show_bytes(count: float | None) -> str:
    """The text of a number of bytes with a unit and three digits, such as `1.50 MiB`; a dash for
    None."""
    if count is None:
        return "–"
    for size, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= size:
            return f"{_three_digits(count / size)} {unit}"
    return f"{count:.0f} B"


def show_time(ns: float | None) -> str:
    """The text of a number of nanoseconds with a unit and three digits, such as `1.50 ms`; a dash
    for None."""
    if ns is None:
        return "–"
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            return f"{_three_digits(ns / size)} {unit}"
    return f"{ns:.0f} ns"


def _number(text: str, units: dict[str, float] | dict[str, int], what: str) -> tuple[float, str]:
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*)", text.strip().lower())
    if not match or match[2] not in units:
        raise UserError(f"expected {what}, found {text!r}")
    return float(match[1]), match[2]


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
