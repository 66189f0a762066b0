"""How many programs, variants and kernels were tried, and what became of them."""

from collections import Counter
from dataclasses import dataclass, field

from tests.fuzz.verdicts import FINE, Kind, Tried


@dataclass(slots=True)
class Count:
    """Of what was tried so far; a variant is a program by a way at a point."""

    programs: int = 0
    variants: int = 0
    kernels: int = 0
    kinds: Counter[Kind] = field(default_factory=Counter)

    def add(self, tried: Tried) -> None:
        made = {v.way: v.kernels for v in tried.verdicts if v.kernels}
        self.programs += 1
        self.variants += len(made)
        self.kernels += sum(made.values())
        self.kinds.update(v.kind for v in tried.verdicts)

    @property
    def findings(self) -> int:
        return sum(n for kind, n in self.kinds.items() if kind not in FINE)

    def __str__(self) -> str:
        told = ", ".join(f"{self.kinds[kind]} {kind.value}" for kind in Kind if self.kinds[kind])
        return (
            f"{self.programs:,} programs, {self.variants:,} variants, {self.kernels:,} kernels: "
            f"{told or 'nothing to tell'}"
        )
