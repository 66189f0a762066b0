"""Arrays of a program with what is known of their elements, and what is asked of them.

Forwards, which depend on an input and which are not zero; backwards, which matter. Like the
interpreter's arrays they have axes for the maps around them (`ir.dependence` makes them).
"""

# key: e term, f function, m mask, p pattern

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ir.core.nodes import Pattern, Var
from ir.dependence.masks import (
    LARGEST,
    NONE,
    Mask,
    Places,
    View,
    anywhere,
    behind,
    either,
    renamed,
    through,
)
from ir.meaning.named_axes import Axis


class Unknown(Exception):
    """Raised for a term that this analysis does not understand."""


Pull = Callable[[Mask], Mask]


def indices(start: int, end: int) -> Places:
    """The numbers from `start` up to `end`; Unknown if they are too many to hold."""
    if end - start > LARGEST:
        raise Unknown
    return np.arange(start, end)


@dataclass(slots=True, eq=False)
class Node:
    """An array with its marks, over its own dimensions and those of the maps around it
    (`scope`)."""

    dims: tuple[Axis, ...]
    scope: frozenset[Axis]
    live: Mask  # depends on inputs
    nonzero: Mask
    fixed: bool  # by constants alone: it may be prepared, in whatever form
    sum: object = None  # whose accumulator it is, with what was added to it
    pulls: tuple[tuple["Node", Pull], ...] = ()  # of what it is made, and what it asks of that
    asked: Mask = NONE

    def ask(self, m: Mask) -> None:
        """Add m to the elements that matter, whatever the elements of maps that this node is not
        inside."""
        axes = {axis for f in m.factors for axis in f.axes}
        self.asked = either(self.asked, anywhere(m, axes - {*self.dims, *self.scope}))


Value = Node | tuple["Value", ...]


@dataclass(slots=True)
class Tape:
    """The nodes in the order in which they were made, and the numbers of products and of whole sums
    met.

    A product counts if what is multiplied or compared at a step of a sum depends on inputs.
    """

    nodes: list[Node] = field(default_factory=list)
    products: int = 0
    whole_sums: int = 0

    def add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node


@dataclass(frozen=True, slots=True)
class Env:
    """The values of variables, and the axes of the maps and sums around a term."""

    values: Mapping[str, Value]
    scope: frozenset[Axis]
    summed: frozenset[Axis]
    tape: Tape

    def bind(self, p: Pattern, value: Value) -> "Env":
        return replace(self, values={**self.values, **taken_apart(p, value)})

    def inside(self, axis: Axis) -> "Env":
        return replace(self, scope=self.scope | {axis})


def taken_apart(p: Pattern, value: Value) -> dict[str, Value]:
    if isinstance(p, Var):
        return {p.name: value}
    assert isinstance(value, tuple)
    pairs = zip(p, value, strict=True)
    return {name: x for q, part in pairs for name, x in taken_apart(q, part).items()}


def leaves(value: Value) -> list[Node]:
    return [value] if isinstance(value, Node) else [n for part in value for n in leaves(part)]


def each(f: Callable[[Node], Node], value: Value) -> Value:
    return f(value) if isinstance(value, Node) else tuple(each(f, part) for part in value)


def the_same(m: Mask) -> Mask:
    return m


def moved(
    node: Node, old: tuple[Axis, ...], new: tuple[Axis, ...], dims: tuple[Axis, ...], env: Env
) -> Node:
    """A node with the marks of `node`, the axes `old` renamed to `new`."""
    to = dict(zip(old, new, strict=True))
    back = dict(zip(new, old, strict=True))
    live, nonzero = renamed(node.live, to), renamed(node.nonzero, to)
    pulls = ((node, lambda m: renamed(m, back)),)
    return env.tape.add(Node(dims, env.scope, live, nonzero, node.fixed, node.sum, pulls))


def seen(node: Node, view: View, env: Env) -> Node:
    """The node of a view of the outermost dimensions of `node`."""
    if node.sum is not None:
        raise Unknown
    dims = (*view.new, *node.dims[len(view.old) :])
    live, nonzero = through(node.live, view), through(node.nonzero, view)
    pulls = ((node, lambda m: behind(m, view)),)
    return env.tape.add(Node(dims, env.scope, live, nonzero, node.fixed, None, pulls))
