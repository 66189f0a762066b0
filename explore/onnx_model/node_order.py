"""An order of nodes in which each comes after those whose results it reads."""

from collections.abc import Container, Mapping, Sequence

from explore.onnx_model.onnx_graph import Node
from ir.errors import UserError

MOST_NAMES = 12  # of nodes in a message


def in_order(nodes: Sequence[Node], known: set[str], outputs: Sequence[str]) -> tuple[Node, ...]:
    """The nodes in their own order, but that what a node waits for comes just before it. `known`
    are the tensors that are there before any node runs; a UserError if a tensor is made twice or
    not at all, or if nodes wait for each other."""
    makers: dict[str, int] = {}
    for n, node in enumerate(nodes):
        for name in filter(None, node.outputs):
            demand_new(node, name, known)
            demand_new(node, name, makers)
            makers[name] = n
    _demand_made(nodes, {*known, *makers}, outputs)
    done = dict[int, None]()
    for n in range(len(nodes)):
        _add(n, nodes, makers, done)
    return tuple(nodes[n] for n in done)


def demand_new(node: Node, name: str, known: Container[str]) -> None:
    """Refuse a node that makes the tensor `name` if that is `known` already."""
    if name in known:
        raise UserError(f"expected each tensor once, found that {node.title} makes '{name}' again")


def _demand_made(nodes: Sequence[Node], made: set[str], outputs: Sequence[str]) -> None:
    for node in nodes:
        for name in filter(None, node.inputs):
            if name not in made:
                raise UserError(
                    f"{node.title} reads '{name}', which is no input, has no weights in the model, "
                    "and is made by no node"
                )
    for name in outputs:
        if name not in made:
            raise UserError(f"the model's output '{name}' is made by no node")


def _add(
    first: int, nodes: Sequence[Node], makers: Mapping[str, int], done: dict[int, None]
) -> None:
    """Add the node with the number `first` to those that are `done`, after all that it waits for.
    `makers` has the number of the node that makes each tensor."""
    left, path = [first], dict[int, None]()  # a path of nodes, each of which waits for the next
    while left:
        n = left[-1]
        if n in done or n in path:
            left.pop()
            path.pop(n, None)
            done[n] = None
            continue
        path[n] = None
        awaited = [makers[name] for name in nodes[n].inputs if name in makers]
        for other in awaited:
            if other in path:
                circle = [*path][[*path].index(other) :]
                raise _in_circle([nodes[k].name for k in (*circle, other)])
        left += [other for other in reversed(awaited) if other not in done]


def _in_circle(names: Sequence[str]) -> UserError:
    """The error that nodes with these names wait for each other, of which the last is the first."""
    told = names if len(names) <= MOST_NAMES else [*names[: MOST_NAMES - 2], "…", names[-1]]
    return UserError(f"the model goes in a circle: {' reads '.join(told)}")
