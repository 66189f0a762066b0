"""The cases of `onnx.backend.test`: models with inputs, and the results that are right."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper, version_converter

from explore.onnx_model.read_model import FIRST_OPSET
from ir.core.frozen import frozen

FOLDERS = ("simple", "pytorch-converted", "pytorch-operator")
"""The folders of models of several nodes; those of opset 6 are converted to the first that is
read."""


@frozen
class Case:
    """A case: its model, pairs of inputs and right results, and how far off these may be."""

    name: str
    model: Any
    data_sets: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    rtol: float
    atol: float

    @property
    def operators(self) -> set[str]:
        """The names of the operators in the model."""
        return {node.op_type for node in self.model.graph.node}


def node_cases(operator: str = "") -> Iterator[Case]:
    """The cases whose models consist of nodes of this operator alone; of all operators if it is
    empty, and then also those of what a function of ONNX stands for. To have them, the modules that
    compute them are imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case import node

        if operator:
            import_module(f"{node.__name__}.{operator.lower()}")
            found = node._NodeTestCases
        else:
            found = list(node.collect_testcases(""))
    for c in found:
        case = Case(c.name, c.model, c.data_sets, c.rtol, c.atol)
        if not operator or case.operators == {operator}:
            yield case


def folder_cases(folder: str) -> Iterator[Case]:
    """The cases in a folder of the `onnx` package, by name."""
    from onnx.backend.test.loader import load_model_tests

    for case in sorted(load_model_tests(kind=folder), key=lambda c: c.name):
        home = Path(case.model_dir)
        model = onnx.load(str(home / "model.onnx"))
        version = max(entry.version for entry in model.opset_import if not entry.domain)
        if version < FIRST_OPSET:
            model = version_converter.convert_version(model, FIRST_OPSET)
        sets = [_data_set(data) for data in sorted(home.glob("test_data_set_*"))]
        yield Case(case.name, model, sets, case.rtol, case.atol)


def _data_set(data: Path) -> tuple[Sequence[Any], Sequence[Any]]:
    given, right = (
        [_value(data / f"{kind}_{n}.pb") for n in range(len([*data.glob(f"{kind}_*.pb")]))]
        for kind in ("input", "output")
    )
    return given, right


def _value(file: Path) -> Any:
    """The array in a file; None if it holds something else, such as a sequence."""
    try:
        return numpy_helper.to_array(onnx.load_tensor(str(file)))
    except Exception:  # protobuf's own kind, which has no types
        return None


def with_constants(case: Case) -> Case | None:
    """The case with all inputs but the first as weights in the model, as exporters have sizes, axes
    and limits; None if it has a single input, or several sets of inputs."""
    others = case.model.graph.input[1:]
    if not others or len(case.data_sets) != 1 or case.model.graph.initializer:
        return None
    given, right = case.data_sets[0]
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    del model.graph.input[1:]
    for proto, array in zip(others, given[1:], strict=True):
        if not isinstance(array, np.ndarray):
            return None
        model.graph.initializer.append(numpy_helper.from_array(array, proto.name))
    return replace(case, model=model, data_sets=[(given[:1], right)])
