"""What a run is asked to do: stored with it, so that it can be gone on with."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal, get_args

from constraints.devices import Limit
from explore.results.stored_fields import LARGEST, Damaged, Fields
from ir.errors import UserError
from ir.text.suggest import no_such

NAME = re.compile(r"[A-Za-z0-9-]{1,60}")
MOST_JOBS, MOST_NAMES = 1024, 64
POOL = 10  # candidates drawn for each variant to be tried
Strategy = Literal["guided", "random"]
Domain = Literal["io-optimal"]


@dataclass(frozen=True, slots=True)
class Options:
    """Everything but the program and the device."""

    variants: int = 1000
    seed: int = 0
    families: tuple[str, ...] = ()  # empty: all
    max_memory: int | None = None
    domain: Domain | None = None  # narrows what parameters are tried
    max_error: float = 1e-4
    time_limit_s: float | None = None
    jobs: int | None = None
    strategy: Strategy = "guided"
    against: tuple[str, ...] = ()  # peers to measure in the same run
    sizes: tuple[tuple[str, int], ...] = ()  # --set
    limits: tuple[Limit, ...] = ()  # --limit: numbers of the device, replaced

    def __post_init__(self) -> None:
        """Refuses what makes no sense, whoever asks for it."""
        demand_whole("variants", self.variants, least=1)
        demand_whole("seed", self.seed, least=0)
        if self.jobs is not None:
            demand_whole("jobs", self.jobs, least=1)
        if self.max_memory is not None:
            demand_whole("max_memory", self.max_memory, least=1)
        if self.time_limit_s is not None:
            demand_positive("time_limit", self.time_limit_s, "seconds")
        demand_positive("max_error", self.max_error, "a relative error")
        demand_one("strategy", self.strategy, get_args(Strategy))
        if self.domain is not None:
            demand_one("domain", self.domain, get_args(Domain))

    @property
    def workers(self) -> int:
        """How many processes build."""
        return self.jobs or max(1, len(os.sched_getaffinity(0)))

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        plain = asdict(self)
        return plain | {"sizes": dict(self.sizes), "limits": dict(self.limits)}

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> "Options":
        """What `as_json` gave, or somebody else made of it; what is missing is as by default."""
        known, usual = Fields.of(dict(stored), "options"), Options()
        return Options(
            variants=known.given("variants", known.whole, usual.variants),
            seed=known.given("seed", known.whole, usual.seed),
            families=_names(known, "families"),
            max_memory=known.maybe("max_memory", known.whole),
            domain=known.maybe("domain", lambda n: known.one_of(n, get_args(Domain))),
            max_error=known.given("max_error", known.number, usual.max_error),
            time_limit_s=known.maybe("time_limit_s", known.number),
            jobs=known.maybe("jobs", lambda n: known.whole(n, least=1, most=MOST_JOBS)),
            strategy=known.given(
                "strategy", lambda n: known.one_of(n, get_args(Strategy)), usual.strategy
            ),
            against=_names(known, "against"),
            sizes=_sizes(known),
            limits=_limits(known),
        )


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


def demand_whole(name: str, value: object, least: int | None = None) -> None:
    """A number that is not whole, or too small, is the user's mistake."""
    if isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least):
        return
    wanted = "a whole number" if least is None else f"a whole number from {least}"
    raise UserError(f"{name}: expected {wanted}, found {value!r}")


def demand_positive(name: str, value: object, what: str) -> None:
    if isinstance(value, int | float) and isfinite(value) and value > 0:
        return
    raise UserError(f"{name}: expected {what} over 0, found {value!r}")


def demand_one(name: str, value: object, known: Sequence[str]) -> None:
    """A word that is none of those known is the user's mistake."""
    if value not in known:
        raise no_such(name, value, known)
