"""Many texts that have lines in common, packed so that such lines are kept once: kernels of one
form are long and differ in few lines, and a compressor does not look that far back."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class SharedLines:
    """Texts, added one by one, each kept as new lines and as runs of lines of earlier ones."""

    new: list[str] = field(default_factory=list)
    parts: list[list[int]] = field(default_factory=list)
    _all: list[str] = field(default_factory=list)  # lines, those of each text after the last one's
    _last: dict[tuple[str, ...], int] = field(default_factory=dict)  # where lines were seen
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, text: str) -> int:
        """The number of a text among those that were added; the text is added if it is new."""
        if text not in self._numbers:
            self._numbers[text] = len(self.parts)
            self.parts.append([*self._runs(text.split("\n"))])
        return self._numbers[text]

    def to_json(self) -> dict[str, Any]:
        """The texts as JSON data: `new` has the lines in the order in which they first occur. Each
        text of `texts` is a list of three numbers again and again: so many new lines; then so many
        that are repeated, beginning so many lines before."""
        return {"new": self.new, "texts": self.parts}

    def _runs(self, lines: list[str]) -> Iterable[int]:
        at, fresh, back = 0, 0, 0
        while at < len(lines):
            start, count = self._longest(lines, at, back)
            here = len(self._all)
            if count:
                back = here - start
                yield from (fresh, count, back)
                fresh = 0
            else:
                self.new.append(lines[at])
                fresh += 1
            for _ in range(max(count, 1)):
                self._see(lines, at)
                at += 1
        if fresh:
            yield from (fresh, 0, 0)

    def _longest(self, lines: list[str], at: int, back: int) -> tuple[int, int]:
        """The earlier run of lines that agrees longest with those from `at` on: where it starts and
        how many lines it has; tried first is the place `back` lines before, where the last run
        would go on."""
        ends = len(self._all)
        places = [ends - back] if back else []
        for key in (tuple(lines[at : at + 2]), (lines[at],)):
            if key in self._last:
                places.append(self._last[key])
        found = (0, 0)
        for place in places:
            count, most = 0, min(ends - place, len(lines) - at)
            while count < most and self._all[place + count] == lines[at + count]:
                count += 1
            if count > found[1]:
                found = (place, count)
        return found

    def _see(self, lines: list[str], at: int) -> None:
        here = len(self._all)
        self._all.append(lines[at])
        self._last[(lines[at],)] = here
        if at + 1 < len(lines):
            self._last[tuple(lines[at : at + 2])] = here
