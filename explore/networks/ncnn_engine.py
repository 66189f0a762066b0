"""The engine ncnn. It reads files of its own format, into which the program `pnnx` converts a
model's file; that program comes in a package, of which nothing else is used (the rest of it needs
PyTorch)."""

import subprocess
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from explore.onnx_model.onnx_graph import Array
from ir.errors import UserError

LIMIT_S = 120.0  # of a conversion
TYPES = {"float32": "f32", "float64": "f64", "int64": "i64", "int32": "i32", "uint8": "u8"}
MODEL, PARAM, WEIGHTS = "model.onnx", "model.ncnn.param", "model.ncnn.bin"

Run = Callable[[], list[Array]]


def ncnn_engine(model: Path, inputs: Mapping[str, Array], threads: int) -> Callable[[], Run]:
    """The function that loads a model into ncnn; what that returns runs it on these inputs, which
    are in the model's order, and gives its results in the order of the model's outputs, computed in
    single precision. The model is converted here, before it is loaded."""
    import ncnn

    folder = tempfile.TemporaryDirectory()
    given = [np.ascontiguousarray(array) for array in inputs.values()]
    convert(model, given, Path(folder.name))

    def load() -> Run:
        with folder:
            net = ncnn.Net()
            net.opt.num_threads = threads
            net.opt.use_fp16_packed = net.opt.use_fp16_storage = False
            net.opt.use_fp16_arithmetic = net.opt.use_bf16_storage = False
            files = (Path(folder.name) / PARAM, Path(folder.name) / WEIGHTS)
            if net.load_param(str(files[0])) or net.load_model(str(files[1])):
                raise UserError(f"ncnn does not read what pnnx makes of {model}")

        def run() -> list[Array]:
            extractor = net.create_extractor()
            for n, array in enumerate(given):
                extractor.input(f"in{n}", ncnn.Mat(array, batch_index=0))
            made = [extractor.extract(name) for name in net.output_names()]
            if any(failed for failed, _ in made):
                raise UserError(f"ncnn cannot run {model}")
            return [np.asarray(result) for _, result in made]

        return run

    return load


def convert(model: Path, given: list[Array], folder: Path) -> None:
    """Write a model's file in ncnn's format into the folder, for inputs like those given."""
    (folder / MODEL).symlink_to(model.resolve())  # it writes beside the model
    if unknown := sorted({a.dtype.name for a in given} - TYPES.keys()):
        raise UserError(
            f"pnnx converts no model with inputs of {unknown[0]}: expected {', '.join(TYPES)}"
        )
    shapes = ",".join(f"{list(a.shape)}{TYPES[a.dtype.name]}".replace(" ", "") for a in given)
    command = [str(_converter()), MODEL, f"inputshape={shapes}", "fp16=0"]
    command += [f"ncnnparam={PARAM}", f"ncnnbin={WEIGHTS}"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=LIMIT_S, text=True)
    except subprocess.TimeoutExpired as expired:
        raise UserError(f"pnnx did not convert {model} within {LIMIT_S:g} s") from expired
    if done.returncode or not (folder / PARAM).exists():
        told = "\n".join((done.stdout + done.stderr).splitlines()[-4:])
        raise UserError(f"pnnx cannot convert {model} for ncnn:\n{told}")


def _converter() -> Path:
    spec = find_spec("pnnx")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "pnnx"
