"""The environment of a run read from JSON: every field is checked, since the folder may come from
anybody."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from explore.bounds.least_traffic import Products, Windows
from explore.options.options import Options
from explore.options.stored_fields import Damaged, Fields, loaded
from explore.results.read_record import ID, NEVER, YEAR_9999
from explore.results.records import Bounds
from explore.results.run_environment import BOOKS, OWN, Environment
from ir.program_file import LONGEST

MOST_WINDOWS = 16
MOST_BEGUN = 4096  # variants that a board ran
SHA256 = re.compile("[0-9a-f]{64}")


def environment_from(text: object) -> Environment:
    """The environment in a text that `Environment.dump` wrote; raises Damaged for any other
    text."""
    fields = loaded(text, "environment", most=4 * LONGEST)
    return Environment(
        program=fields.exact_text("program", LONGEST),
        name=fields.text("name"),
        device=fields.text("device"),
        driver=fields.text("driver"),
        version=fields.text("version"),
        platform=fields.text("platform"),
        seed=fields.whole("seed"),
        variants=fields.whole("variants", least=1),
        options=_options(fields.fields("options")),
        bounds=_bounds(fields.fields("bounds")),
        machine=_words(fields.fields("machine")),
        started_unix_s=fields.number("started_unix_s", most=YEAR_9999),
        numbers=_numbers(fields.given("numbers", fields.fields, Fields({}, ""))),
        reference=fields.maybe("reference", lambda n: fields.matching(n, SHA256, "a sha256")),
        begins=fields.given("begins", lambda n: _variants(fields, n), ()),
        records=fields.given("records", lambda n: fields.one_of(n, BOOKS), OWN),
    )


def _variants(fields: Fields, name: str) -> tuple[str, ...]:
    entries = fields.each(name, MOST_BEGUN)
    return tuple(entry.matching("value", ID, "the name of a variant") for entry in entries)


def _options(fields: Fields) -> Mapping[str, Any]:
    """The stored options as plain values, after a check that options can be read from them."""
    Options.from_json(fields.values)
    fields.maybe("profile", fields.text)
    fields.maybe("file", fields.text)
    if strange := [name for name, value in fields.values.items() if not _plain(value)]:
        found = fields.values[strange[0]]
        raise Damaged(f"options: {strange[0]}: expected plain values, found {found!a:.60}")
    return fields.values


def _plain(value: object, depth: int = 3) -> bool:
    """True if a value consists of numbers, texts, and lists and objects of these, nested at most
    `depth` deep."""
    match value:
        case None | bool() | int() | float() | str():
            return True
        case list():
            return depth > 0 and all(_plain(entry, depth - 1) for entry in value)
        case dict():
            return depth > 0 and all(_plain(entry, depth - 1) for entry in value.values())
        case _:
            return False


def _words(fields: Fields) -> Mapping[str, str]:
    return {name: fields.text(name) for name in fields.named()}


def _numbers(fields: Fields) -> Mapping[str, Sequence[int]]:
    """The numbers of a stored profile by name, each one number or a few."""
    return {name: [e.whole("value") for e in fields.each(name, 16)] for name in fields.named()}


def _bounds(fields: Fields) -> Bounds:
    return Bounds(
        flops=fields.maybe("flops", fields.whole),
        whole_operations=fields.maybe("whole_operations", fields.whole),
        io_bytes=fields.maybe("io_bytes", fields.whole),
        peak_flops=fields.maybe("peak_flops", lambda n: fields.number(n, least=1.0)),
        bandwidth=fields.maybe("bandwidth", lambda n: fields.number(n, least=1.0)),
        products=fields.maybe("products", lambda n: _products(fields.fields(n))),
        yardstick_operations=fields.maybe(
            "yardstick_operations", lambda n: fields.number(n, least=1.0)
        ),
        **{n: _time(fields, n) for n in ("launch_ns", "event_ns", "yardstick_ns")},
    )


def _time(fields: Fields, name: str) -> float | None:
    return fields.maybe(name, lambda n: fields.number(n, least=1.0, most=NEVER))


def _products(fields: Fields) -> Products:
    windows = tuple(map(_windows, fields.objects("windows", most=MOST_WINDOWS)))
    return Products(
        count=fields.whole("count", least=1),
        results=fields.whole("results", least=1),
        reuse=fields.number("reuse", least=1e-9),
        windows=windows,
        real=fields.number("real", most=1.0),
        others=fields.whole("others"),
        word=fields.whole("word", least=1, most=64),
    )


def _windows(fields: Fields) -> Windows:
    size, step = fields.whole("size", least=1), fields.whole("step", least=1)
    return Windows(size, step, fields.whole("count", least=1), fields.whole("whole"))
