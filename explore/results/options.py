"""What a run is asked to do: stored with it, so that it can be gone on with."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from math import isfinite
from typing import Any, Literal, get_args

from constraints.devices import Limit
from ir.errors import UserError

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
        """What `as_json` gave."""
        known = {f.name for f in fields(Options)}
        kept: dict[str, Any] = {name: value for name, value in stored.items() if name in known}
        kept["families"] = tuple(kept.get("families", ()))
        kept["against"] = tuple(kept.get("against", ()))
        kept["sizes"] = tuple(sorted(kept.get("sizes", {}).items()))
        limits = kept.get("limits", {})
        kept["limits"] = tuple(sorted((name, tuple(values)) for name, values in limits.items()))
        return Options(**kept)


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
        near = get_close_matches(str(value), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UserError(f"{name}: expected one of {', '.join(known)}, found {value!r}{hint}")
