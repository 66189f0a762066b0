"""The layers of a network: programs of our language with typed arrays between them; layers with
equal programs share one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from codegen.text_proof.work_in_part import Part
from explore.network_graph.equal_constants import Contents
from explore.network_graph.folded_nodes import OF_SHAPES, folded_graph
from explore.network_graph.taken_branches import with_branches_taken
from explore.onnx_model.fold_constants import Constants
from explore.onnx_model.onnx_graph import SCALARS, Array, Graph, Kind, Node, naming
from explore.onnx_model.tensor_data import demand_small
from explore.operators.all_operators import step_of
from explore.operators.layouts import Layout
from explore.operators.program_text import NAME
from explore.operators.site import Site, Step, Tensor
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.errors import Unsupported, UserError
from ir.parse import parse

OF_IMAGES = (
    "Conv",
    "ConvTranspose",
    "QLinearConv",
    "ConvInteger",
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "BatchNormalization",
    "LRN",
    "Resize",
    "Upsample",
)
OF_MATRICES = ("MatMul", "Gemm", "MatMulInteger", "QLinearMatMul")
IN_ONNX_ORDER = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", *OF_MATRICES)


@frozen
class Layer:
    """A layer: the node that it was made from (`title`, `operator`), the number of its program, and
    what the program's parameters are given (`tensors` and `constants`). Its result is the tensor
    `output`, or, if `into` is not None, that part of it.

    `joins` gives, for a concatenation, the tensors that it joins, each with its share of a row.
    `layouts` gives the layout of each tensor that it reads or makes and that may lie in several;
    `others` are layers that compute the same in other layouts. `contents` gives a number for what
    each constant holds, which is the same where two layers' constants hold the same bytes."""

    title: str
    operator: str
    program: int
    tensors: tuple[tuple[str, str], ...]
    constants: Mapping[str, Array]
    output: str
    into: Part | None = None  # None: it makes all of the output
    joins: tuple[tuple[str, int], ...] = ()
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    others: "tuple[Layer, ...]" = ()
    contents: Mapping[str, int] = field(default_factory=dict)

    @property
    def ways(self) -> "tuple[Layer, ...]":
        """The layer as it is, and as it is with its tensors in other layouts."""
        return self, *self.others


@frozen
class Change:
    """A copy of a tensor: the tensor's name, the layout in which it lies, and that of its copy."""

    tensor: str
    lies: Layout
    copied: Layout


@dataclass(slots=True)
class Layers:
    """A network as layers, in an order in which they can run: its tensors and its different
    programs. `same_as` gives, for a tensor that is another tensor in a new shape, the name of that
    other tensor; `parts` gives the two programs that may take the place of a program, by its
    number; and `changes` gives the programs that make tensors' copies in other layouts."""

    name: str
    inputs: Mapping[str, Kind]
    outputs: tuple[str, ...]
    layers: list[Layer] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    programs: list[Program] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    same_as: dict[str, str] = field(default_factory=dict)
    parts: dict[int, tuple[int, int]] = field(default_factory=dict)  # programs in place of one
    changes: dict[Change, int] = field(default_factory=dict)

    def root(self, name: str) -> str:
        """The tensor that holds the numbers of the tensor `name`: itself, unless it is another one
        in a new shape."""
        return self.same_as.get(name, name)

    def made_bytes(self, layer: Layer) -> int:
        """The bytes that a layer writes: those of its output, or of the part of it that the layer
        makes."""
        size, part = self.tensors[layer.output].kind.bytes, layer.into
        return size if part is None else size // part.whole * part.each

    def uses(self, program: int) -> list[Layer]:
        """The layers that have the program of this number in one of their layouts, or that may have
        it as one of two parts."""
        return [
            way
            for layer in self.layers
            for way in layer.ways
            if way.program == program or program in self.parts.get(way.program, ())
        ]


def layers_of(graph: Graph) -> Layers:
    """The layers of a graph; an error names the first node that is not covered."""
    return with_contents(built_layers(graph).made)


def with_contents(made: Layers) -> Layers:
    """The layers with numbers for the contents of their constants."""
    known = Contents()
    made.layers = [_numbered(layer, known) for layer in made.layers]
    return made


def _numbered(layer: Layer, known: Contents) -> Layer:
    constants, contents = known.of(layer.constants)
    others = tuple(_numbered(other, known) for other in layer.others)
    return replace(layer, constants=constants, contents=contents, others=others)


@dataclass(slots=True)
class Built:
    """The layers of a graph (`made`), the numbers of their programs by text (`known`), and the site
    of each layer, with the number of the node's result that the layer makes."""

    made: Layers
    known: dict[str, int] = field(default_factory=dict)
    sites: list[tuple[Site, int]] = field(default_factory=list)


def built_layers(graph: Graph) -> Built:
    """The layers of a graph, with the sites that they were made from."""
    known = Constants.of(graph)
    graph = folded_graph(with_branches_taken(graph, known), known)
    for name, kind in graph.inputs.items():
        demand_small(f"input '{name}'", kind)
        if kind.dtype not in SCALARS:
            raise Unsupported(
                f"input '{name}': the language has no numbers of the type {kind.dtype}"
            )
    built = Built(Layers(graph.name, graph.inputs, graph.outputs))
    made, constants = built.made, known.arrays
    made.tensors = {name: Tensor(name, kind) for name, kind in graph.inputs.items()}
    for node in (part for each in graph.nodes for part in _apart(graph, made, constants, each)):
        if _is_constant(node, made, known):
            continue
        if not node.outputs[0] and node.operator != "Split":
            raise Unsupported(f"{node.title}: expected that its first result is used, found others")
        for which, output in enumerate(node.outputs):
            if output and (which == 0 or node.operator == "Split"):
                _add(built, _site(graph, made, constants, (node, output)), which, output)
    _add_copies(built, graph, constants)
    return built


def _add_copies(built: Built, graph: Graph, constants: Mapping[str, Array]) -> None:
    """Add layers that copy those results of the network that are inputs or constants, so that each
    result is a tensor of its own. Refused if all are."""
    made = built.made
    plain = {name: f"{name} (result)" for name in graph.outputs if _is_plain(made, name, constants)}
    if plain.keys() >= {*graph.outputs}:
        name = graph.outputs[0]
        what = "an input" if name in graph.inputs else "a constant"
        raise UserError(f"the output '{name}' is {what}: there is nothing to compute")
    while any(own in made.tensors or own in constants for own in plain.values()):
        plain = {name: f"{own}'" for name, own in plain.items()}
    made.outputs = tuple(plain.get(name, name) for name in graph.outputs)
    for name, own in plain.items():
        node = Node(own, "Identity", (name,), (own,), {})
        _add(built, _site(graph, made, constants, (node, own)), 0, own)


def _is_plain(made: Layers, name: str, constants: Mapping[str, Array]) -> bool:
    """True if a result of the network is an input or a constant."""
    return name in made.inputs or name in constants


def _apart(
    graph: Graph, made: Layers, constants: Mapping[str, Array], node: Node
) -> tuple[Node, ...]:
    """The node itself; or, if it is a convolution to which another tensor is added that is repeated
    along some axes, or along which its result is, the convolution and the sum."""
    if node.operator != "Conv" or len(node.inputs) < 4:
        return (node,)
    *own, other = node.inputs
    output = f"{node.outputs[0]}.alone"
    later = {k: v for k, v in node.attributes.items() if k == "epilogue"}
    plain = {k: v for k, v in node.attributes.items() if k != "epilogue"}
    alone = replace(node, inputs=tuple(own), outputs=(output,), attributes=plain)
    with naming(node):
        kind = step_of(_site(graph, made, constants, (alone, output)), 0).kind
    added = constants[other] if other in constants else made.tensors[other]
    if kind.shape == added.shape:
        return (node,)
    return alone, Node(f"{node.name} (sum)", "Add", (output, other), node.outputs, later)


def _is_constant(node: Node, made: Layers, known: Constants) -> bool:
    """True if what a node makes is known before the network runs; it is then added to the constants
    `known`."""
    if node.operator not in OF_SHAPES or node.inputs[0] not in made.tensors:
        with naming(node):
            return known.take(node)
    shape, given = made.tensors[node.inputs[0]].shape, node.attributes
    part = shape[given.get("start", 0) : given.get("end", len(shape))]
    found = prod(shape) if node.operator == "Size" else part
    known.arrays[node.outputs[0]] = np.asarray(found, np.int64)
    return True


def _site(graph: Graph, made: Layers, constants: Mapping[str, Array], of: tuple[Node, str]) -> Site:
    node, output = of
    inputs = [
        None if not name
        else Tensor(name, Kind.of(constants[name]), array=constants[name])
        if name in constants
        else made.tensors[name]
        for name in node.inputs
    ]  # fmt: skip
    if any(t is not None and (not t.shape or 0 in t.shape) and t.array is None for t in inputs):
        inputs = [_with_axes(node, t) for t in inputs]
    layout = Layout.ONNX if output in graph.outputs else _layout(node, inputs)
    return Site(node, graph.opset, inputs, layout)


def _with_axes(node: Node, t: Tensor | None) -> Tensor | None:
    if t is not None and 0 in t.shape:
        raise UserError(
            f"{node.title}: expected arrays with elements, found '{t.name}' without any"
        )
    return t


def _layout(node: Node, inputs: "list[Tensor | None]") -> Layout:
    """The layout in which a node's result is best stored: with its channels last if the node's
    operator is one on images, or if it computes number by number of a tensor that is stored so.
    `inputs` are the tensors that the node reads."""
    varying = [t for t in inputs if t is not None and t.array is None]
    if not varying or len(varying[0].shape) not in (3, 4, 5) or node.operator in IN_ONNX_ORDER:
        return Layout.ONNX
    return Layout.LAST if node.operator in OF_IMAGES else varying[0].layout


def _add(built: Built, site: Site, which: int, output: str) -> None:
    made = built.made
    with naming(site.node):
        step = step_of(site, which)
    demand_small(f"{site.node.title}: its result '{output}'", step.kind)
    layout = step.layout if several(step.kind) else Layout.ONNX
    made.tensors[output] = Tensor(output, step.kind, layout)
    if not step.body:
        root = made.root(str(step.parameters[0].given))
        if output not in made.outputs and root not in made.outputs:
            made.same_as[output] = root
            return
        step = copied(step)
    made.layers.append(layer_of(built, site, step, output))
    built.sites.append((site, which))


def several(kind: Kind) -> bool:
    """True if a tensor has several numbers for each channel; else all of it lies alike in both
    orders."""
    return kind.elements > prod(kind.shape[:2])


def copied(step: Step) -> Step:
    """The step that copies the tensor which a step without a program leaves as it is."""
    (only,) = step.parameters
    return Step(step.kind, step.layout, (only,), f"map(a -> a, {only.name})")


def layer_of(built: Built, site: Site, step: Step, output: str) -> Layer:
    """The layer that makes the tensor `output` by a step; its program gets a number."""
    made, number = built.made, program_of(built, site, step)
    if step.parts:
        first, second = (program_of(built, site, part) for part in step.parts)
        made.parts[number] = (first, second)
    tensors = [(p.name, made.root(p.given)) for p in step.parameters if isinstance(p.given, str)]
    joins = len(tensors) == len(step.lengths) == len(step.parameters)
    return Layer(
        site.node.name,
        site.node.operator,
        number,
        tuple(tensors),
        {p.name: p.given for p in step.parameters if not isinstance(p.given, str)},
        output,
        joins=tuple(zip((t for _, t in tensors), step.lengths, strict=True)) if joins else (),
    )


def program_of(built: Built, site: Site, step: Step) -> int:
    """The number of a step's program among the network's; programs with the same text share a
    number."""
    made, known, text = built.made, built.known, step.text
    if text not in known:
        known[text] = len(made.programs)
        name = f"{re.sub('[^a-z0-9]', '_', site.node.operator.lower())}_{len(known)}"
        made.texts.append(re.sub(rf"^{NAME}\(", f"{name}(", text, flags=re.MULTILINE))
        made.programs.append(parse(made.texts[-1], f"<{site.node.title}>"))
    return known[text]
