"""The table of candidates and their kernels, each kernel once, from which the search learns."""

# key: i candidate, k kernel (a row of the table)

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ir.core.frozen import frozen

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@frozen
class KernelTable:
    """A table with a row for each kernel, which candidates may share, and, for each candidate, the
    numbers of its kernels' rows.

    Candidate 0 pads by a kernel A and sums up by B, candidate 1 pads by A and sums up by C:

        rows       A B C      what is known of each, in named columns
        row_of     0 1 0 2    the rows of the first candidate, then of the second, …
        start_of   0   2      where each candidate begins in row_of
    """

    columns: tuple[str, ...]
    rows: Floats  # what the model learns from
    estimates: Floats  # for each row the log of a rough time
    row_of: Numbers
    start_of: Numbers
    memory: Floats  # bytes of each candidate

    @staticmethod
    def of(
        columns: Sequence[str],
        rows: Floats,
        memory: Sequence[float] | None = None,
        estimates: Sequence[float] | Floats | None = None,
        counts: Sequence[int] | None = None,
    ) -> "KernelTable":
        """The table of candidates from rows of their kernels: candidate by candidate, `counts` rows
        for each, or one row if `counts` is left out.

        `memory` (for each candidate) and `estimates` (for each row) are 0 if they are left out.
        """
        each = np.ones(len(rows), np.intp) if counts is None else np.asarray(counts, np.intp)
        return _merged(
            tuple(columns),
            rows,
            np.zeros(len(rows)) if estimates is None else np.asarray(estimates, np.float64),
            np.arange(len(rows)),
            np.cumsum(each) - each,
            np.zeros(len(each)) if memory is None else np.asarray(memory, np.float64),
        )

    def __len__(self) -> int:
        return len(self.start_of)

    def followed_by(self, more: "KernelTable") -> "KernelTable":
        """The table of these candidates followed by those of `more`."""
        if not len(more):
            return self
        columns = tuple(dict.fromkeys([*self.columns, *more.columns]))
        return _merged(
            columns,
            np.concatenate([self._with(columns), more._with(columns)]),
            np.concatenate([self.estimates, more.estimates]),
            np.concatenate([self.row_of, more.row_of + len(self.rows)]),
            np.concatenate([self.start_of, more.start_of + len(self.row_of)]),
            np.concatenate([self.memory, more.memory]),
        )

    def _with(self, columns: tuple[str, ...]) -> Floats:
        """The rows of this table under `columns`, which include its own; `absent` gives the number
        that fills a new column."""
        rows = np.tile([absent(name) for name in columns], (len(self.rows), 1))
        rows[:, [columns.index(name) for name in self.columns]] = self.rows
        return rows

    def under(self, columns: Sequence[str]) -> Floats:
        """The rows of this table under other columns; `absent` fills those that it lacks."""
        mine = {name: n for n, name in enumerate(self.columns)}
        rows = np.tile([absent(name) for name in columns], (len(self.rows), 1))
        both = [(n, mine[name]) for n, name in enumerate(columns) if name in mine]
        for n, own in both:
            rows[:, n] = self.rows[:, own]
        return rows

    def only(self, columns: Sequence[str]) -> NDArray[np.bool_]:
        """For each row of this table, whether it has features in these columns alone."""
        others = [n for n, name in enumerate(self.columns) if name not in columns]
        nothing = [absent(self.columns[n]) for n in others]
        return np.asarray((self.rows[:, others] == nothing).all(axis=1), dtype=np.bool_)

    def kinds(self) -> list[bytes]:
        """The key of each candidate's family and form, made of the columns for words in the row of
        its last kernel."""
        return self._words("")

    def families(self) -> list[bytes]:
        """The key of each candidate's family."""
        return self._words("family=")

    def _words(self, begin: str) -> list[bytes]:
        """The key of each candidate made of those columns for words, in the row of its last kernel,
        whose names begin so."""
        wanted = ["=" in name and name.startswith(begin) for name in self.columns]
        words = self.rows[:, wanted].astype(np.bool_)
        ends = np.append(self.start_of[1:], len(self.row_of)) - 1
        return [row.tobytes() for row in words[self.row_of[ends]]]

    def kernels_of(self, i: int) -> Numbers:
        """The rows of a candidate's kernels, in the order in which they run."""
        end = self.start_of[i + 1] if i + 1 < len(self) else len(self.row_of)
        return self.row_of[self.start_of[i] : end]

    def divided(self, i: int, time: float) -> Sequence[float]:
        """The time of a candidate divided among its kernels in proportion to their estimates."""
        rough = np.exp(self.estimates[self.kernels_of(i)])
        return [float(part) for part in time * rough / rough.sum()]

    def total(self, logs: Floats) -> Floats:
        """The log of each candidate's time, the sum of its kernels' times; `logs` are the logs of
        the times of all rows."""
        return np.log(np.add.reduceat(np.exp(logs)[self.row_of], self.start_of))


def absent(name: str) -> float:
    """The number that stands in a column for a missing feature: 0 for a word, -1 for a number."""
    return 0.0 if "=" in name else -1.0


def _merged(
    columns: tuple[str, ...],
    rows: Floats,
    estimates: Floats,
    row_of: Numbers,
    start_of: Numbers,
    memory: Floats,
) -> KernelTable:
    """The table with these columns and arrays, in which equal rows are made one, in the order in
    which they come first."""
    numbers: dict[bytes, int] = {}
    which = [numbers.setdefault(row.tobytes(), len(numbers)) for row in rows]
    kept = np.unique(which, return_index=True)[1]
    parts = np.asarray(which, np.intp)[row_of]
    return KernelTable(columns, rows[kept], estimates[kept], parts, start_of, memory)
