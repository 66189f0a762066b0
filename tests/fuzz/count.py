"""The counts of programs, variants and kernels that the fuzzer tried, and of their outcomes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.fuzz.verdicts import FINE, Kind, Tried


@dataclass(slots=True)
class Count:
    """The counts of programs, variants, kernels and kinds of verdicts so far; a variant is a
    program lowered in one way at one point."""

    programs: int = 0
    variants: Counter[str] = field(default_factory=Counter)  # by family, as are the others
    kernels: Counter[str] = field(default_factory=Counter)
    kinds: Counter[tuple[str, Kind]] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)  # by how programs came about

    def add(self, tried: Tried) -> None:
        made = {v.way: v.kernels for v in tried.verdicts if v.kernels}
        self.programs += 1
        self.drawn[tried.drawn] += 1
        self.variants.update(way.family for way in made)
        for way, kernels in made.items():
            self.kernels[way.family] += kernels
        self.kinds.update((v.way.family, v.kind) for v in tried.verdicts)

    def of(self, kind: Kind) -> int:
        return sum(n for (_, found), n in self.kinds.items() if found is kind)

    @property
    def findings(self) -> int:
        return sum(self.of(kind) for kind in Kind if kind not in FINE)

    def __str__(self) -> str:
        told = ", ".join(f"{self.of(kind)} {kind.value}" for kind in Kind if self.of(kind))
        return (
            f"{self.programs:,} programs, {self.variants.total():,} variants, "
            f"{self.kernels.total():,} kernels: {told or 'nothing to tell'}"
        )

    def table(self) -> Iterator[str]:
        """Lines to print: one with the number of programs for each way of drawing them, then a
        table with a row for each family, of variants, kernels and outcomes."""
        yield ", ".join(f"{n:,} {drawn}" for drawn, n in sorted(self.drawn.items()))
        kinds = [kind for kind in Kind if self.of(kind)]
        yield " | ".join(["family", "variants", "kernels", *(kind.value for kind in kinds)])
        for family in sorted({family for family, _ in self.kinds}):
            made = (self.variants[family], self.kernels[family])
            numbers = (*made, *(self.kinds[family, kind] for kind in kinds))
            yield " | ".join([family, *map(str, numbers)])
