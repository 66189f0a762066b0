"""What a run is asked to do: stored with it, so that it can be gone on with."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from constraints.devices import Limit
from explore.search import Strategy

POOL = 10  # candidates drawn for each variant to be tried


@dataclass(frozen=True, slots=True)
class Options:
    """Everything but the program and the device."""

    variants: int = 1000
    seed: int = 0
    families: tuple[str, ...] = ()  # empty: all
    max_memory: int | None = None
    domain: str | None = None  # narrows what parameters are tried
    max_error: float = 1e-4
    time_limit_s: float | None = None
    jobs: int | None = None
    strategy: Strategy = "guided"
    against: tuple[str, ...] = ()  # peers to measure in the same run
    sizes: tuple[tuple[str, int], ...] = ()  # --set
    limits: tuple[Limit, ...] = ()  # --limit: numbers of the device, replaced

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
        kept["families"] = tuple(kept["families"])
        kept["against"] = tuple(kept["against"])
        kept["sizes"] = tuple(sorted(kept["sizes"].items()))
        limits = kept.get("limits", {})
        kept["limits"] = tuple(sorted((name, tuple(values)) for name, values in limits.items()))
        return Options(**kept)
