"""Nests of maps whose axes have names: strategies tile, order, merge and block them by name.

    arranged(batch=dims.batch, columns=dims.columns, rows=dims.rows)
        .merge("columns")
        .tile("columns", 7, "column tiles", "columns")
        .order("batch", "column tiles", "rows", "columns")
        .into_sum("columns")

A `Nest` is the strategy that leads to it: the labels of its maps, and the steps so far. It is
frozen; each move gives another nest. A label may stand for several maps, or for none (`labels`):
then a move on it does nothing. Each move is a stage of the derivation.
"""

# key: s strategy, e term, k size

from collections.abc import Sequence

from ir.core.frozen import frozen
from ir.core.nodes import Expr
from ir.core.size import Size, show_size
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import seq
from rewrites.laws.maps import split_map
from rewrites.nest.blocks_of_results import block
from rewrites.nest.dimensions import Dims
from rewrites.nest.labels import Label, Labels, labels
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.reshape import merge, on_map, sort, swap, tile
from rewrites.nest.spine import inside, nested, within

COUNTED = {1: "one", 2: "two", 3: "three"}  # in names of stages, which have no numbers


@frozen
class Nest:
    """The strategy, `steps` one after another, that makes a nest of maps with these labels,
    outermost first."""

    labels: Labels
    steps: tuple[Strategy, ...] = ()

    def __call__(self, e: Expr) -> Rewritten | None:
        return seq(*self.steps)(e)

    @property
    def depth(self) -> int:
        """The number of maps in the nest."""
        return self.labels.count(*self.labels.names)

    def count(self, *names: str) -> int:
        """The number of maps that have one of these names."""
        return self.labels.count(*names)

    # ---- the maps in another order, or fewer

    def order(self, *names: str) -> "Nest":
        """The nest with its maps in this order of their names; several maps of one name keep their
        order."""
        ordered = self.labels.ordered(*names)
        moves = sort(self.labels.positions(*names))
        return self._with(ordered, stage(f"order: {', '.join(ordered.present)}", moves))

    def exchange(self, outer: str, inner: str, by: Strategy | None = None) -> "Nest":
        """The nest with its maps `outer` and `inner`, which are neighbours, exchanged, so that
        `inner` is around `outer`: by the laws of maps or by the strategy `by`.

        Nothing is done where one of the two names has no map.
        """
        at = self.labels.index(outer)
        names = [*self.labels.names]
        names[at : at + 2] = [inner, outer]
        n = self.labels.first(outer)
        moves = swap(n) if by is None else seq(nested(n, by), perfect, simplify)
        told = stage(f"{inner} around {outer}", moves)
        both = self.count(outer, inner) == 2
        return self._with(self.labels.ordered(*names), *[told] * both)

    def merge(self, name: str, *parts: str) -> "Nest":
        """The nest with the maps called `name`, or, if `parts` are given, the maps of these
        neighbouring names, as one map called `name` over all their elements."""
        names = parts or (name,)
        count, first = self.count(*names), self.labels.first(names[0])
        merged = self.labels.joined(names, Label(name, min(count, 1)))
        return self._with(merged, stage(f"{name} as one dimension", _merges(count - 1, first)))

    def at_most(self, limit: int, *names: str) -> "Nest":
        """The nest with its outermost maps, which have the names `names`, merged to at most `limit`
        maps of the first name."""
        count = self.count(*names)
        merged = self.labels.joined(names, Label(names[0], min(count, limit)))
        return self._with(
            merged, stage(f"at most {COUNTED[limit]} maps over groups", _merges(count - limit, 0))
        )

    # ---- one map as two

    def tile(self, name: str, k: Size, tiles: str, inside: str, *, told_as: str = "") -> "Nest":
        """The nest with the map called `name` as a map called `tiles`, over tiles of k elements,
        rounded up, and inside it a map called `inside`, over the elements of a tile. The name of
        the stage says `told_as` in place of k, if that is given."""
        told = stage(_cut("tile", name, k, told_as), tile(self._only(name), k))
        return self._if_any(name, told).called(name, tiles, inside)

    def split(self, name: str, k: Size, chunks: str, inside: str, *, told_as: str = "") -> "Nest":
        """The nest with the map called `name`, whose length k divides, as a map called `chunks`,
        over chunks of k elements, and inside it a map called `inside`, over the elements of a
        chunk. The name of the stage says `told_as` in place of k, if that is given."""
        told = stage(_cut("split", name, k, told_as), on_map(self._only(name), split_map(k=k)))
        return self._if_any(name, told).called(name, chunks, inside)

    def divided(self, name: str, s: Strategy, outer: str, inner: str, *after: Strategy) -> "Nest":
        """The nest with the map called `name` as two maps, `outer` and `inner`, which the strategy
        s makes of it. Then views are moved outside, and the strategies `after` are applied."""
        cut = seq(nested(self._only(name), s), perfect, simplify, *after)
        return self._if_any(name, stage(outer, cut)).called(name, outer, inner)

    def called(self, name: str, *new: str) -> "Nest":
        """The nest after the map called `name` has become several maps, which are called `new`, the
        outermost first."""
        count = self.count(name)
        return self._with(self.labels.replaced(name, *(Label(inner, count) for inner in new)))

    def called_each(self, name: str, **counts: int) -> "Nest":
        """The nest with names of their own for the neighbouring maps called `name`: as many as
        `counts` says, outermost first."""
        if sum(counts.values()) != self.count(name):
            raise ValueError(f"expected {self.count(name)} maps {name}, found counts {counts}")
        return self._with(self.labels.replaced(name, *(Label(n, k) for n, k in counts.items())))

    def grouped(self, name: str, *names: str) -> "Nest":
        """The nest with one name, `name`, for neighbouring maps, which have the names `names` so
        far."""
        return self._with(self.labels.joined(names, Label(name, self.count(*names))))

    # ---- something else done to it

    def then(self, *steps: Strategy) -> "Nest":
        """The nest after the strategies `steps`, which have to leave its maps and their names as
        they are, have been applied too."""
        return self._with(self.labels, *steps)

    def on(self, name: str, s: Strategy, told: str) -> "Nest":
        """The nest after s has been applied to the map of a name, and views moved outside. The
        stage is called by the name and then `told`, as in `rows in vectors of v`."""
        return self._if_any(name, stage(f"{name} {told}", on_map(self._only(name), s)))

    def at(self, name: str, s: Strategy) -> "Nest":
        """The nest after s has been applied to the outermost map of a name."""
        return self._if_any(name, nested(self.labels.first(name), s))

    def at_each(self, name: str, s: Strategy) -> "Nest":
        """The nest after s has been applied to each map of a name, the innermost first."""
        return self.then(*(nested(n, s) for n in reversed(self.labels.positions(name))))

    def inside(self, s: Strategy) -> "Nest":
        """The nest after s has been applied to the whole body of its innermost map. s gets all of
        that body: the reduction with the views and lets around it."""
        return self.then(inside(within(self.depth, s)))

    def told(self, name: str, since: "Nest") -> "Nest":
        """The nest with its steps since the nest `since`, which it was made from, as one stage
        called `name`."""
        done = len(since.steps)
        return Nest(self.labels, (*since.steps, stage(name, seq(*self.steps[done:]))))

    # ---- maps inside the sum

    def into_sum(self, *names: str, left: int = 0) -> "Nest":
        """The nest with its innermost maps, which have these names, moved inside the sum, which
        then adds up blocks.

        In a nest of sums they go inside all but the `left` innermost ones.
        """
        first, last = self.labels.first(names[0]), self.depth - 1
        told = " × ".join(name for name in names if self.count(name))
        shared = "around chunks of the sum" if left else "inside the sum"
        inward = stage(f"{told} {shared}", block(first, last, left))
        return self._with(self.labels.without(*names), inward)

    def around_chunks(self, *names: str) -> "Nest":
        """The nest with its innermost maps, which have these names, moved inside all sums but the
        innermost, so that they share each chunk."""
        return self.into_sum(*names, left=1)

    # ---- how moves are made

    def _with(self, labels: Labels, *steps: Strategy) -> "Nest":
        return Nest(labels, (*self.steps, *steps))

    def _if_any(self, name: str, s: Strategy) -> "Nest":
        return self.then(s) if self.count(name) else self

    def _only(self, name: str) -> int:
        """The position of the only map of this name; if there is none, where it would be;
        ValueError if there are several."""
        if self.count(name) > 1:
            raise ValueError(f"expected one map {name}, found {self.count(name)}")
        return self.labels.first(name)


def arranged(**positions: Sequence[int]) -> Nest:
    """The nest with its maps brought into the order of these names; the value for each name gives
    the positions where its maps stand so far."""
    named = Labels(tuple(Label(name, len(found)) for name, found in positions.items()))
    order = [n for found in positions.values() for n in found]
    return Nest(named, (stage(f"order: {', '.join(named.present)}", sort(order)),))


def in_lines(dims: Dims, tall: bool) -> Nest:
    """The nest of a kernel with the dimensions `dims`, outermost first: maps called `batch`, which
    are not cut into blocks; if `tall`, those called `lines`; the innermost of columns, called
    `columns`; and those called `rows`. Where there are no rows, the innermost column is one."""
    columns = dims.columns if dims.rows else dims.columns[:-1]
    lines = columns[-2:-1] if tall else ()
    return arranged(
        batch=(*dims.batch, *columns[: len(columns[:-1]) - len(lines)]),
        lines=lines,
        columns=columns[-1:],
        rows=dims.rows or dims.columns[-1:],
    )


def standing(*names: str, **counts: int) -> Nest:
    """The nest as it stands, outermost first: one map for each of `names`, then as many as `counts`
    says."""
    return Nest(labels(*names, **counts))


def picked(**positions: int) -> Nest:
    """The nest as it stands, with the map at each of these positions called by its keyword;
    positions are given outermost first. The maps between the one called x and the previous one with
    a name are called `before x`."""
    found: list[Label] = []
    stands = 0
    for name, n in positions.items():
        found += [Label(f"before {name}", n - stands), Label(name)]
        stands = n + 1
    return Nest(Labels(tuple(found)))


def _cut(move: str, name: str, k: Size, told_as: str) -> str:
    """The name of a stage that tiles or splits (`move`) the map of a name into parts of k elements,
    such as `tile tx columns`; `told_as`, if not empty, says in words what k is."""
    if told_as:
        return f"{move} {told_as} {name}"
    return f"{move} {name} one by one" if k == 1 else f"{move} {show_size(k)} {name}"


def _merges(times: int, n: int) -> Strategy:
    return seq(*[merge(n)] * times)
