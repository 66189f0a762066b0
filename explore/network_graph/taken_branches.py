"""Choices between branches (`If`) whose condition is known before the network runs: the nodes of
the branch that is taken stand in the place of the choice."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from explore.onnx_model.fold_constants import Constants
from explore.onnx_model.onnx_graph import BRANCHES, Array, Body, Graph, Node, naming
from ir.errors import Unsupported, UserError

CHOICE = "If"


def with_branches_taken(graph: Graph, known: Constants) -> Graph:
    """The graph in which the nodes of branches stand for each choice, as the constants, to which
    those of these branches are added, decide; without the nodes that nobody needs then. Refused if
    a condition is not known."""
    if all(node.operator != CHOICE for node in graph.nodes):
        return graph
    names = {*graph.inputs, *known.arrays, *(n for node in graph.nodes for n in node.outputs)}
    left, nodes = [*reversed(graph.nodes)], list[Node]()
    while left:
        node = left.pop()
        if node.operator == CHOICE:
            left += reversed([*_taken(node, known, names)])
            continue
        shape = _shape(node, graph)
        if shape is not None:
            known.arrays[node.outputs[0]] = shape
            continue
        with naming(node):
            if not known.take(node):
                nodes.append(node)
    return replace(graph, nodes=tuple(_needed(nodes, graph.outputs)))


def _shape(node: Node, graph: Graph) -> Array | None:
    """The result of a `Shape` of one of the graph's inputs; None for other nodes."""
    if node.operator != "Shape" or node.inputs[0] not in graph.inputs:
        return None
    shape, given = graph.inputs[node.inputs[0]].shape, node.attributes
    return np.array(shape[given.get("start", 0) : given.get("end", len(shape))], np.int64)


def _needed(nodes: Sequence[Node], outputs: Sequence[str]) -> list[Node]:
    """Those of the nodes, in order, of which the graph's outputs need a result."""
    needed, found = {*outputs}, list[Node]()
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            needed |= {*filter(None, node.inputs)}
            found.append(node)
    return found[::-1]


def _taken(choice: Node, known: Constants, names: set[str]) -> Iterator[Node]:
    """The nodes of the branch that a choice takes, with names that are new among `names`, and with
    the results of the choice."""
    body = choice.attributes[BRANCHES[not _condition(choice, known)]]
    made = [*body.constants, *(n for node in body.nodes for n in node.outputs if n)]
    prefix = next(filter(None, choice.outputs))
    while any(f"{prefix}.{name}" in names for name in made):
        prefix += "'"
    called = {name: f"{prefix}.{name}" for name in made}
    for inner, outer in zip(body.outputs, choice.outputs, strict=True):
        if outer and inner not in body.constants and called.get(inner) == f"{prefix}.{inner}":
            called[inner] = outer
    names |= {*called.values()}
    known.arrays.update({called[name]: array for name, array in body.constants.items()})
    yield from (_renamed(node, called) for node in body.nodes)
    for inner, outer in zip(body.outputs, choice.outputs, strict=True):
        given = called.get(inner, inner)
        if outer and given != outer:
            yield Node(f"{choice.name}, {outer}", "Identity", (given,), (outer,), {})


def _condition(choice: Node, known: Constants) -> bool:
    condition = known.arrays.get(choice.inputs[0])
    if condition is None:
        raise Unsupported(
            f"{choice.title}: expected a condition that weights and shapes of inputs decide, found "
            "one that is computed when the network runs"
        )
    if condition.size != 1:
        raise UserError(f"{choice.title}: expected one condition, found {condition.size:,}")
    return bool(condition.item())


def _renamed(node: Node, called: Mapping[str, str]) -> Node:
    """The node with the tensors that it reads and makes called otherwise, also in its branches."""
    attributes = {
        name: _renamed_body(value, called) if isinstance(value, Body) else value
        for name, value in node.attributes.items()
    }
    inputs, outputs = (
        tuple(called.get(n, n) for n in names) for names in (node.inputs, node.outputs)
    )
    return replace(node, inputs=inputs, outputs=outputs, attributes=attributes)


def _renamed_body(body: Body, called: Mapping[str, str]) -> Body:
    own = {*body.constants, *(n for node in body.nodes for n in node.outputs)}
    others = {name: new for name, new in called.items() if name not in own}
    nodes = tuple(_renamed(node, others) for node in body.nodes)
    return replace(body, nodes=nodes, outputs=tuple(others.get(n, n) for n in body.outputs))
