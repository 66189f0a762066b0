"""Labels: names for the dimensions of a nest of maps or of an array, outermost first.

A label names one dimension or several neighbours, none among them: a nest over images, two columns
and no rows has the labels `batch` (1), `columns` (2) and `rows` (0). Moves on a nest of maps
(`nest.named_nest`) and on the dimensions of an array (`nest.named_views`) say names; where these
stand is found here, and nowhere else.
"""

# key: n position, from the outside

from collections.abc import Iterator, Sequence

from ir.core.frozen import frozen


@frozen
class Label:
    """A name, and the number of neighbouring dimensions that have it."""

    name: str
    count: int = 1


@frozen
class Labels:
    """The labels of dimensions, outermost first (`all`); each name occurs once."""

    all: tuple[Label, ...]

    def __post_init__(self) -> None:
        if len({*self.names}) != len(self.all):
            raise ValueError(f"expected each name once, found {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all labels, outermost first, also of those that stand for no dimension."""
        return tuple(label.name for label in self.all)

    @property
    def present(self) -> tuple[str, ...]:
        """The names that have at least one dimension."""
        return tuple(label.name for label in self.all if label.count)

    def index(self, name: str) -> int:
        """The index of the label that has this name; ValueError if none has."""
        if name not in self.names:
            raise ValueError(f"expected one of {', '.join(self.names)}, found {name}")
        return self.names.index(name)

    def count(self, *names: str) -> int:
        """The number of dimensions that have one of these names."""
        return sum(self.all[self.index(name)].count for name in names)

    def first(self, name: str) -> int:
        """The position of the first dimension that has this name."""
        return sum(label.count for label in self.all[: self.index(name)])

    def positions(self, *names: str) -> tuple[int, ...]:
        """The positions of the dimensions that have these names, in the order of the names."""
        spans = ((self.first(name), self.count(name)) for name in names)
        return tuple(n for first, count in spans for n in range(first, first + count))

    def ordered(self, *names: str) -> "Labels":
        """The labels in the order of `names`, which has the name of each once."""
        if {*names} != {*self.names}:
            raise ValueError(f"expected {', '.join(self.names)} in some order, found {names}")
        return Labels(tuple(self.all[self.index(name)] for name in names))

    def replaced(self, name: str, *new: Label) -> "Labels":
        """The labels with `new` in the place of the label that has this name."""
        at = self.index(name)
        return Labels((*self.all[:at], *new, *self.all[at + 1 :]))

    def joined(self, names: Sequence[str], new: Label) -> "Labels":
        """The labels with `new` in the place of several neighbours, whose names `names` gives in
        their order."""
        at = self.index(names[0])
        if self.names[at : at + len(names)] != (*names,):
            raise ValueError(f"expected neighbours among {', '.join(self.names)}, found {names}")
        return Labels((*self.all[:at], new, *self.all[at + len(names) :]))

    def without(self, *names: str) -> "Labels":
        """The labels without the innermost ones, whose names `names` gives in any order."""
        left = len(self.all) - len(names)
        if {*self.names[left:]} != {*names}:
            raise ValueError(f"expected the innermost of {', '.join(self.names)}, found {names}")
        return Labels(self.all[:left])


def labels(*names: str, **counts: int) -> Labels:
    """The labels of one dimension each for `names`, then those of several dimensions for
    `counts`."""
    return Labels((*map(Label, names), *(Label(name, n) for name, n in counts.items())))


def brought(order: Sequence[int]) -> Iterator[int]:
    """The exchanges of neighbouring dimensions that bring dimension order[i] to position i, for
    each i in turn; an exchange of the dimensions at n and n + 1 is given as n."""
    stands = sorted(order)
    for place, n in enumerate(order):
        found = stands.index(n)
        yield from reversed(range(place, found))
        stands.insert(place, stands.pop(found))


def sorting(order: Sequence[int]) -> Iterator[int]:
    """The fewest exchanges of neighbouring dimensions that bring dimension order[i] to position i
    for all i, inner positions first; an exchange of the dimensions at n and n + 1 is given as n.

    Moves on a nest of maps are made in this sequence, moves on views in that of `brought`.
    """
    ranks = [order.index(n) for n in range(len(order))]
    for end in reversed(range(len(ranks))):
        for n in range(end):
            if ranks[n] > ranks[n + 1]:
                ranks[n], ranks[n + 1] = ranks[n + 1], ranks[n]
                yield n
