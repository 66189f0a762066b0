"""What is known of candidates before they are tried: the kernels that each is made of."""

# key: i candidate, k kernel

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Known:
    """Kernels that have the same row are one: candidates share them."""

    names: tuple[str, ...]  # of columns
    kernels: Floats  # a row for each: what the model learns from
    estimate: Floats  # the log of a rough time of each
    made_of: Numbers  # the kernels of the first candidate, of the second, ...
    first: Numbers  # where each candidate's begin
    memory: Floats  # bytes of each candidate

    @staticmethod
    def of(
        names: Sequence[str],
        kernels: Floats,
        memory: Sequence[float] | None = None,
        estimate: Sequence[float] | Floats | None = None,
        counts: Sequence[int] | None = None,
    ) -> "Known":
        """From the rows of one candidate's kernels after another's, so many of each, or one. What
        else is left out is the same for all."""
        each = np.ones(len(kernels), np.intp) if counts is None else np.asarray(counts, np.intp)
        return _merged(
            tuple(names),
            kernels,
            np.zeros(len(kernels)) if estimate is None else np.asarray(estimate, np.float64),
            np.arange(len(kernels)),
            np.cumsum(each) - each,
            np.zeros(len(each)) if memory is None else np.asarray(memory, np.float64),
        )

    def __len__(self) -> int:
        return len(self.first)

    def followed_by(self, more: "Known") -> "Known":
        if not len(more):
            return self
        names = tuple(dict.fromkeys([*self.names, *more.names]))
        return _merged(
            names,
            np.concatenate([self._with(names), more._with(names)]),
            np.concatenate([self.estimate, more.estimate]),
            np.concatenate([self.made_of, more.made_of + len(self.kernels)]),
            np.concatenate([self.first, more.first + len(self.made_of)]),
            np.concatenate([self.memory, more.memory]),
        )

    def _with(self, names: tuple[str, ...]) -> Floats:
        """The rows with these columns, of which it has some."""
        rows = np.tile([absent(name) for name in names], (len(self.kernels), 1))
        rows[:, [names.index(name) for name in self.names]] = self.kernels
        return rows

    def kinds(self) -> list[bytes]:
        """What tells each candidate's family and form: the words of its last kernel."""
        words = self.kernels[:, ["=" in name for name in self.names]].astype(np.bool_)
        ends = np.append(self.first[1:], len(self.made_of)) - 1
        return [row.tobytes() for row in words[self.made_of[ends]]]

    def parts(self, i: int) -> Numbers:
        """The kernels of a candidate."""
        end = self.first[i + 1] if i + 1 < len(self) else len(self.made_of)
        return self.made_of[self.first[i] : end]

    def shared(self, i: int, time: float) -> Sequence[float]:
        """A candidate's time, divided among its kernels as their estimates are."""
        rough = np.exp(self.estimate[self.parts(i)])
        return [float(part) for part in time * rough / rough.sum()]

    def total(self, logs: Floats) -> Floats:
        """The log of each candidate's time, from those of all kernels."""
        return np.log(np.add.reduceat(np.exp(logs)[self.made_of], self.first))


def absent(name: str) -> float:
    """Stands in a column for what a kernel does not have: a word, or a number."""
    return 0.0 if "=" in name else -1.0


def _merged(
    names: tuple[str, ...],
    kernels: Floats,
    estimate: Floats,
    made_of: Numbers,
    first: Numbers,
    memory: Floats,
) -> Known:
    """Equal rows as one, in the order in which they come first."""
    numbers: dict[bytes, int] = {}
    which = [numbers.setdefault(row.tobytes(), len(numbers)) for row in kernels]
    kept = np.unique(which, return_index=True)[1]
    parts = np.asarray(which, np.intp)[made_of]
    return Known(names, kernels[kept], estimate[kept], parts, first, memory)
