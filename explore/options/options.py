"""The options of a run, which say what the run shall do; they are stored with it, so that it can be
resumed.

An option is defined once, as a field of `Options`: its name, its value where it is not given, how
it is written and read, and its help text. The command line and `explore()` in Python are made from
these fields.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from math import inf
from typing import Any, Literal, TypedDict, Unpack, cast, get_args

from constraints.devices import Limit, limit
from explore.options.option_values import (
    Way,
    demand_one,
    demand_positive,
    demand_whole,
    names,
    number,
    one_of,
    several,
    way,
    whole_from,
)
from explore.options.stored_fields import LARGEST, Damaged, Fields
from explore.options.units import parse_bytes, parse_seconds
from ir.command import assigned
from ir.core.frozen import frozen
from ir.errors import UserError
from ir.text.suggest import no_such
from rewrites.families.all_families import FAMILIES

COMPILED = 64  # variants, if a run does not say how many
NAME = re.compile(r"[A-Za-z0-9-]{1,60}")
MOST_JOBS, MOST_NAMES = 1024, 64
POOL = 10  # candidates drawn for each variant to be tried
Strategy = Literal["guided", "random"]
Domain = Literal["io-optimal"]
PeerName = Literal["torch", "tinygrad", "tinygrad-beam", "clblast"]
STRATEGIES, DOMAINS, PEERS = get_args(Strategy), get_args(Domain), get_args(PeerName)


@frozen
class Options:
    """The options of a run: everything that it is asked for but the program and the device."""

    variants: int = field(
        default=1000, metadata=way("--variants", whole_from(1), "N", "variants to build, at most")
    )
    seed: int = field(
        default=0,
        metadata=way("--seed", whole_from(0), "N", "seed of the search's order and of inputs"),
    )
    families: tuple[str, ...] = field(
        default=(),
        metadata=way(
            "--families",
            names,
            "A,B",
            "try only these families",
            several=True,
            usual="those with forms of their own",
        ),
    )
    max_memory: int | None = field(  # bytes
        default=None,
        metadata=way(
            "--max-memory",
            parse_bytes,
            "64MiB",
            "limit of a variant's global memory",
            usual="none",
        ),
    )
    domain: Domain | None = field(
        default=None,
        metadata=way(
            "--domain",
            one_of("domain", DOMAINS),
            "NAME",
            f"narrower parameters: {DOMAINS[0]}",
            usual="none",
        ),
    )
    max_error: float | None = field(
        default=None,
        metadata=way(
            "--max-error",
            number,
            "E",
            "largest relative error of a right result",
            usual="1e-5 in floats, 0.05 in halves, 0.4 in bfloats",
        ),
    )
    largest: float | None = field(
        default=None,
        metadata=way(
            "--largest",
            number,
            "X",
            "no input holds a number larger than X or below -X: forms that rely on it are tried",
            usual="any number may come",
        ),
    )
    time_limit: float | None = field(  # seconds
        default=None,
        metadata=way(
            "--time-limit",
            parse_seconds,
            "10m",
            "time after which a run stops; resume goes on",
            usual="none",
        ),
    )
    jobs: int | None = field(
        default=None,
        metadata=way(
            "--jobs",
            whole_from(1),
            "N",
            "number of processes that build",
            usual="one a core",
        ),
    )
    compile: int | None = field(
        default=None,
        metadata=way(
            "--compile",
            whole_from(0),
            "N",
            "with --profile: variants to compile, where the device's compiler is installed",
            usual=str(COMPILED),
        ),
    )
    strategy: Strategy = field(
        default="guided",
        metadata=way(
            "--strategy",
            one_of("strategy", STRATEGIES),
            "NAME",
            f"search: {' or '.join(STRATEGIES)}",
        ),
    )
    against: tuple[PeerName, ...] = field(
        default=(),
        metadata=way(
            "--against",
            names,
            "A,B",
            f"peers to measure too, of {', '.join(PEERS)}",
            several=True,
            usual="none",
        ),
    )
    sizes: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=way(
            "--set",
            lambda text: (assigned(text),),
            "NAME=SIZE",
            "bind a size of the program, in place of what `where` says",
            several=True,
        ),
    )
    limits: tuple[Limit, ...] = field(
        default=(),
        metadata=way(
            "--limit",
            lambda text: (limit(text),),
            "NAME=N",
            "replace a number of the device; several as group_dims=256,256,64",
            several=True,
        ),
    )

    def __post_init__(self) -> None:
        """Refuse options that make no sense, whoever gives them."""
        demand_whole("variants", self.variants, least=1)
        demand_whole("seed", self.seed, least=0)
        if self.compile is not None:
            demand_whole("compile", self.compile, least=0)
        if self.jobs is not None:
            demand_whole("jobs", self.jobs, least=1, most=MOST_JOBS)
        if self.max_memory is not None:
            demand_whole("max_memory", self.max_memory, least=1)
        if self.time_limit is not None:
            demand_positive("time_limit", self.time_limit, "seconds")
        if self.max_error is not None:
            demand_positive("max_error", self.max_error, "a relative error")
        if self.largest is not None:
            demand_positive("largest", self.largest, "a number")
        demand_one("strategy", self.strategy, STRATEGIES)
        if self.domain is not None:
            demand_one("domain", self.domain, DOMAINS)
        for family in self.families:
            demand_one("family", family, FAMILIES)
        for peer in self.against:
            demand_one("peer", peer, PEERS)
        for name, size in self.sizes:
            demand_whole(f"sizes: {name}", size)
        for name, values in self.limits:
            for value in values:
                demand_whole(f"limits: {name}", value)

    @staticmethod
    def of(**asked: "Unpack[Asked]") -> "Options":
        """The options from plain values or from text as on the command line; those left out have
        their defaults."""
        known = ways()
        if unknown := [name for name in asked if name not in known]:
            raise no_such("option", unknown[0], known)
        return Options(**{name: _value(name, known[name], v) for name, v in asked.items()})

    @property
    def workers(self) -> int:
        """The number of processes that build."""
        return self.jobs or max(1, len(os.sched_getaffinity(0)))

    @property
    def to_compile(self) -> int:
        """The number of variants to compile, where a compiler for the device is installed."""
        return COMPILED if self.compile is None else self.compile

    @property
    def largest_input(self) -> float:
        """The largest absolute value of a number that inputs may hold."""
        return inf if self.largest is None else self.largest

    def as_json(self) -> dict[str, Any]:
        """The options as plain values, by name."""
        plain = asdict(self)
        plain["time_limit_s"] = plain.pop("time_limit")
        return plain | {"sizes": dict(self.sizes), "limits": dict(self.limits)}

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> "Options":
        """The options from what `as_json` gave, perhaps changed by hand; those left out have their
        defaults."""
        known, usual = Fields.of(dict(stored), "options"), Options()
        return Options(
            variants=known.given("variants", known.whole, usual.variants),
            seed=known.given("seed", known.whole, usual.seed),
            families=_names(known, "families"),
            max_memory=known.maybe("max_memory", known.whole),
            domain=known.maybe("domain", lambda n: known.one_of(n, DOMAINS)),
            max_error=known.maybe("max_error", known.number),
            largest=known.maybe("largest", known.number),
            time_limit=known.maybe("time_limit_s", known.number),
            jobs=known.maybe("jobs", lambda n: known.whole(n, least=1, most=MOST_JOBS)),
            compile=known.maybe("compile", known.whole),
            strategy=known.given("strategy", lambda n: known.one_of(n, STRATEGIES), usual.strategy),
            against=tuple(map(peer_named, _names(known, "against"))),
            sizes=_sizes(known),
            limits=_limits(known),
        )


class Asked(TypedDict, total=False):
    """The options as keywords of Python; a test checks that they are the fields of `Options`."""

    variants: int | str
    seed: int | str
    families: str | Sequence[str]
    max_memory: int | str | None
    domain: Domain | None
    max_error: float | str | None
    largest: float | str | None
    time_limit: float | str | None
    jobs: int | str | None
    compile: int | str | None
    strategy: Strategy
    against: str | Sequence[str]
    sizes: Mapping[str, int] | Sequence[str]
    limits: Mapping[str, int | Sequence[int]] | Sequence[str]


def ways() -> dict[str, Way]:
    """The way in which each option is given, by the option's name."""
    return {f.name: _with_default(f.metadata["way"], f.default) for f in fields(Options)}


def _with_default(way: Way, default: object) -> Way:
    """The way of an option, with its default added to its help if that is a number or a word."""
    return replace(way, usual=str(default)) if isinstance(default, int | float | str) else way


def peer_named(name: str) -> PeerName:
    """The name of a peer; a UserError lists the peers if there is none of this name."""
    demand_one("peer", name, PEERS)
    return cast(PeerName, name)


def _value(name: str, way: Way, value: object) -> Any:
    """The value of the option `name`: `value` itself, or, if that is text, what it means."""
    try:
        if way.several:
            return _together(name, several(value, way.read))
        return way.read(value) if isinstance(value, str) else value
    except UserError as error:
        raise UserError(f"{name}: {error.message}") from None


def _together(name: str, entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """The entries of an option without repeated names: of names alone, in the order given; of pairs
    (name, value), such as sizes and limits, the last of each name, sorted."""
    if name in ("families", "against"):
        return tuple(dict.fromkeys(map(str, entries)))
    pairs = sorted(dict(map(_pair, entries)).items())
    return tuple((n, _numbers_of(v)) for n, v in pairs) if name == "limits" else tuple(pairs)


def _pair(entry: object) -> tuple[str, object]:
    if isinstance(entry, tuple) and len(entry) == 2:
        return str(entry[0]), entry[1]
    raise UserError(f"expected a name with a number, found {entry!r}")


def _numbers_of(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,)


def _names(known: Fields, name: str) -> tuple[str, ...]:
    if known.values.get(name) is None:
        return ()
    return tuple(entry.matching("value", NAME, "a name") for entry in known.each(name, MOST_NAMES))


def _sizes(known: Fields) -> tuple[tuple[str, int], ...]:
    sizes = known.given("sizes", known.fields, Fields({}, ""))
    return tuple(sorted((n, sizes.whole(n, -LARGEST)) for n in sizes.named()))


def _limits(known: Fields) -> tuple[Limit, ...]:
    limits = known.given("limits", known.fields, Fields({}, ""))
    return tuple(sorted((name, _numbers(limits, name)) for name in limits.named()))


def _numbers(limits: Fields, name: str) -> tuple[int, ...]:
    found = tuple(entry.whole("value") for entry in limits.each(name, MOST_NAMES))
    if not found:
        raise Damaged(f"{limits.what}: {name}: expected numbers, found none")
    return found
