"""Nodes whose inputs are all constants, computed once when a model is read, by ONNX's reference:
arithmetic on shapes that exporters leave behind, and weights stored in another form than they are
used in."""

from collections.abc import Sequence
from dataclasses import dataclass

from explore.onnx_model.folding_costs import FOLDED, most_elements, nanoseconds
from explore.onnx_model.onnx_graph import Array, Graph, Kind, Node, naming
from explore.onnx_model.reference_node import computed, kinds_of, version_for
from explore.onnx_model.tensor_data import MOST_BYTES, MOST_IN_ALL
from ir.errors import Unsupported, UserError

MOST_NS = 30_000_000_000  # for all constants of a model, by rough estimates
MOST_MADE = 1 << 29  # bytes of all constants that are computed, if there are few weights
TIMES_WEIGHTS = 8  # else they may have so many times the bytes of the weights more


@dataclass(slots=True)
class Constants:
    """The constants of a model for version `opset` of ONNX's operators, in `arrays` by name: its
    weights, and what nodes make of them. A small file may ask for much: at most `bytes_left` bytes
    more are computed, in about `ns_left` nanoseconds."""

    opset: int
    arrays: dict[str, Array]
    bytes_left: int
    ns_left: int = MOST_NS

    @staticmethod
    def of(graph: Graph) -> "Constants":
        """The constants of a graph of which no node has been computed."""
        weights = sum(a.nbytes for a in graph.constants.values())
        most = min(MOST_MADE + TIMES_WEIGHTS * weights, MOST_IN_ALL)
        return Constants(graph.opset, dict(graph.constants), most)

    def takes(self, node: Node) -> bool:
        """True if a node is computed as soon as all that it reads is constant."""
        known = node.operator in FOLDED and version_for(node, self.opset) is not None
        return known and not self._is_random(node)

    def _is_random(self, node: Node) -> bool:
        """True if a node drops numbers at random, or if that is not known yet."""
        mode = node.inputs[2] if node.operator == "Dropout" and len(node.inputs) > 2 else ""
        return bool(mode) and (mode not in self.arrays or bool(self.arrays[mode].any()))

    def take(self, node: Node) -> bool:
        """Compute a node's results and add them to the constants; False if it reads anything else,
        or is not of those that are computed. A UserError if its results cannot be had, or would
        take too much memory or time."""
        names = dict.fromkeys(filter(None, node.inputs))
        if not all(name in self.arrays for name in names) or not self.takes(node):
            return False
        given = {name: self.arrays[name] for name in names}
        if any(array.dtype == object for array in given.values()):  # text
            return False
        version = version_for(node, self.opset)
        assert version is not None, "it takes the node"
        kinds = kinds_of(node, version, given)
        if any(kind is not None and kind.dtype == "object" for kind in kinds.values()):
            return False
        arrays = [given[name] for name in filter(None, node.inputs)]
        with naming(node):
            self._demand_affordable(
                node, arrays, [_largest(node, arrays, k) for k in kinds.values()]
            )
        for name, array in computed(node, version, given).items():
            if kinds[name] not in (None, Kind.of(array)):
                raise Unsupported(f"{node.title}: ONNX's reference does not compute it right")
            self.bytes_left -= array.nbytes
            self.arrays[name] = array
        return True

    def _demand_affordable(self, node: Node, arrays: Sequence[Array], made: Sequence[Kind]) -> None:
        """Refuse a node that would take too much memory or time to make results of these kinds out
        of `arrays`; else count the time."""
        size, most = sum(kind.bytes for kind in made), min(self.bytes_left, MOST_BYTES)
        if size > most:
            raise UserError(
                f"{node.title}: expected at most {most:,} bytes of constants, found {size:,}"
            )
        time = nanoseconds(node, arrays, made)
        if time > self.ns_left:
            raise UserError(
                f"{node.title}: expected at most {self.ns_left / 1e9:.0f} s to compute constants, "
                f"found that it takes about {time // 10**9:,} s"
            )
        self.ns_left -= time


def _largest(node: Node, arrays: Sequence[Array], kind: Kind | None) -> Kind:
    """The kind of a result, or, where that is not known for sure, of the largest that a node makes
    of these arrays."""
    most = most_elements(node, arrays)
    if most is not None:
        return Kind("int64", (most,))
    if kind is None:
        raise Unsupported(
            f"{node.title}: expected a constant whose size is known before it is computed"
        )
    return Kind(kind.dtype, tuple(max(1, n) for n in kind.shape))  # on the way to nothing, too
