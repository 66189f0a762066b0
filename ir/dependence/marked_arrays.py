"""Arrays of a program with marks on their elements, which the analysis `ir.dependence` propagates.

Forwards, the marks say which elements depend on an input and which may be other than zero;
backwards, which elements the results need. Like the interpreter's arrays, these have axes for the
maps around them.
"""

# key: e term, f function, m mask, p pattern

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ir.core.frozen import frozen
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
    """Raised by the analysis for a term that it cannot handle."""


Pull = Callable[[Mask], Mask]


def indices(start: int, end: int) -> Places:
    """The indices from `start` up to, not including, `end`; raises Unknown if they are too many to
    hold."""
    if end - start > LARGEST:
        raise Unknown
    return np.arange(start, end)


@dataclass(slots=True, eq=False)
class Node:
    """An array with marks on its elements, as masks over its own dimensions `dims` and over the
    axes `scope` of the maps around it: which elements depend on an input (`live`), may be other
    than zero (`nonzero`), and are needed for the results (`asked`).

    `fixed` says that all its elements depend on constants alone. `pulls` has the arrays that it is
    made of, each with a function: from a mask of elements needed of this array to the mask of those
    that are then needed of that one. `sum` tells whose accumulator it is, with what was added to
    it; None if it is none.
    """

    dims: tuple[Axis, ...]
    scope: frozenset[Axis]
    live: Mask  # depends on inputs
    nonzero: Mask
    fixed: bool  # by constants alone: it may be prepared, in whatever form
    sum: object = None  # whose accumulator it is, with what was added to it
    pulls: tuple[tuple["Node", Pull], ...] = ()  # of what it is made, and what it asks of that
    asked: Mask = NONE

    def ask(self, m: Mask) -> None:
        """Mark the elements in m as needed; m is projected on the axes that this node has."""
        axes = {axis for f in m.factors for axis in f.axes}
        self.asked = either(self.asked, anywhere(m, axes - {*self.dims, *self.scope}))


Value = Node | tuple["Value", ...]


@dataclass(slots=True)
class Tape:
    """A record of the analysis: the nodes in the order of their making, and the numbers of products
    and of whole sums met.

    A step of an innermost sum counts as a product if all its operands depend on inputs and at least
    one of them is not constant. In a whole sum all steps do.
    """

    nodes: list[Node] = field(default_factory=list)
    products: int = 0
    whole_sums: int = 0

    def add(self, node: Node) -> Node:
        """The node itself, after it is appended to the record."""
        self.nodes.append(node)
        return node


@frozen
class Env:
    """The surroundings of a term: the values of variables, the axes of the maps and sums around it
    (`scope`), those of the sums alone (`summed`), and the record of the analysis (`tape`)."""

    values: Mapping[str, Value]
    scope: frozenset[Axis]
    summed: frozenset[Axis]
    tape: Tape

    def bind(self, p: Pattern, value: Value) -> "Env":
        """This environment with the variables of a pattern bound to the parts of a value."""
        return replace(self, values={**self.values, **taken_apart(p, value)})

    def inside(self, axis: Axis) -> "Env":
        """This environment inside a map or sum along `axis`."""
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
    """A copy of `node` with its axes `old` renamed to `new`, and with `dims` as its dimensions; it
    is added to the record of `env`."""
    to = dict(zip(old, new, strict=True))
    back = dict(zip(new, old, strict=True))
    live, nonzero = renamed(node.live, to), renamed(node.nonzero, to)
    pulls = ((node, lambda m: renamed(m, back)),)
    return env.tape.add(Node(dims, env.scope, live, nonzero, node.fixed, node.sum, pulls))


def seen(node: Node, view: View, env: Env) -> Node:
    """The node for `view`, a view of the outermost dimensions of `node`; it is added to the record
    of `env`. Unknown if `node` is an accumulator."""
    if node.sum is not None:
        raise Unknown
    dims = (*view.new, *node.dims[len(view.old) :])
    live, nonzero = through(node.live, view), through(node.nonzero, view)
    pulls = ((node, lambda m: behind(m, view)),)
    return env.tape.add(Node(dims, env.scope, live, nonzero, node.fixed, None, pulls))
