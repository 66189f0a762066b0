"""The numbers that a part of a text adds to the ints that walk with its loops."""

# key: s statement

from collections import Counter
from dataclasses import dataclass, field

from codegen.text_proof.reading import Reading
from codegen.text_reader.c_syntax import Braces, Branches, Counted, CStatement


@dataclass(slots=True)
class Advances:
    """The numbers that statements of one kernel's text add to walking ints, by the ints' names;
    `reading` says which line is read, `known` keeps what was found, by a statement's id."""

    reading: Reading
    known: dict[int, dict[str, int]] = field(default_factory=dict)

    def of(self, s: CStatement) -> dict[str, int]:
        """The numbers that s, carried out once, adds to walking ints that begin outside of it;
        NotRead if they depend on a test."""
        if id(s) not in self.known:
            self.known[id(s)] = {name: n for name, n in self.found(s).items() if n}
        return self.known[id(s)]

    def found(self, s: CStatement) -> dict[str, int]:
        match s:
            case Counted(count=count):
                own = {name for name, _ in s.walks}
                return {n: count * by for n, by in self.of_turn(s).items() if n not in own}
            case Braces(inner):
                return self.sum_of(inner)
            case Branches(_, then, otherwise, _):
                if self.of(then) != self.of(otherwise):
                    raise self.reading.refused(
                        "expected both sides of a test to add the same to an index, "
                        f"found {self.of(then)} and {self.of(otherwise)}"
                    )
                return self.of(then)
        return {}

    def of_turn(self, s: Counted) -> dict[str, int]:
        """The numbers that a turn of the loop s adds to walking ints."""
        return self.sum_of(s.body.statements, dict(s.steps))

    def sum_of(
        self, inner: tuple[CStatement, ...], more: dict[str, int] | None = None
    ) -> dict[str, int]:
        """The sums of what these statements add to walking ints, and of `more`."""
        found = Counter[str](more or {})
        for each in inner:
            for name, by in self.of(each).items():
                found[name] += by
        return dict(found)
