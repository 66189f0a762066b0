"""Tests of programs on numbers of every type: their search, `.npy` files as inputs and results, and
exports that read and write these types."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from codegen.__main__ import main as run_by_codegen
from codegen.runtime.devices import Device
from codegen.runtime.session import open_device
from explore.__main__ import main
from explore.run.run import Run
from ir.__main__ import main as run_by_ir
from ir.meaning.inputs import STORED, Numbers
from tests.explore.test_run import hosts, ran_in, vendors

PROGRAM = """
conv(const weights : [[[[{w}]3]3]3]4, image : [[[{x}]3]7]6) =
  map2d(window -> map(kernel ->
      {to}(reduce({zero}, (acc, (x, w)) -> acc + {term}, zip(flatten(window), flatten(kernel)))),
    weights), slide2d(3, 1, pad2d(1, 0, image)))
"""
TYPES = {  # of the image, the weights and the result; a term of its sums, and what they start from
    "halves": ("half", "half", "half", "x * w", "0h"),
    "bfloats": ("bfloat", "bfloat", "bfloat", "float(x) * float(w)", "0.0"),
    "halves and bytes": ("half", "char", "float", "float(x) * float(w)", "0.0"),
    "bytes": ("uchar", "char", "char_sat", "int(x) * int(w)", "0"),
    "shorts to ints": ("short", "uchar", "int", "int(x) * int(w)", "0"),
}


def program(types: str, folder: Path) -> Path:
    x, w, to, term, zero = TYPES[types]
    file = folder / "program.lift"
    file.write_text(PROGRAM.format(x=x, w=w, to=to, term=term, zero=zero))
    return file


def drawn(shape: tuple[int, ...], t: str) -> Numbers:
    """An array of this shape of random small whole numbers, stored as type `t`; their sums are
    exact."""
    return np.random.default_rng().integers(0, 4, shape).astype(STORED[t])


def convolved(image: Numbers, weights: Numbers, to: str) -> Numbers:
    """The right result of a program for these inputs, which it makes of sums by `to`."""
    padded = np.pad(image.astype(np.int64), ((1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(0, 1))
    sums = np.einsum("hwcrs,mrsc->hwm", windows, weights.astype(np.int64))
    fitting = np.clip(sums, -128, 127) if to == "char_sat" else sums
    return np.asarray(fitting.astype(np.float64), STORED[to.removesuffix("_sat")])


@pytest.mark.parametrize("types", TYPES)
def test_arrays_of_each_type_go_from_files_to_files(
    types: str, tmp_path: Path, device: Device
) -> None:
    x, w, to, *_ = TYPES[types]
    file, image, weights = program(types, tmp_path), drawn((6, 7, 3), x), drawn((4, 3, 3, 3), w)
    np.save(tmp_path / "image.npy", image)
    np.save(tmp_path / "weights.npy", weights)
    given = [f"--input={n}={tmp_path / n}.npy" for n in ("image", "weights")]
    out, right = tmp_path / "out.npy", tmp_path / "right.npy"
    assert run_by_ir(["eval", str(file), *given, "--output", str(right)]) in (0, None)
    asked = ["run", str(file), *given, "--output", str(out), "--family", "naive"]
    assert run_by_codegen([*asked, "--device", device.name]) in (0, None)
    made, meant = np.load(out), np.load(right)
    dtype = STORED[to.removesuffix("_sat")]
    if made.dtype == np.dtype("V2"):  # as NumPy saves bfloats
        made = made.view(dtype)
    assert made.dtype == dtype
    expected = convolved(image, weights, to)
    assert np.array_equal(made, expected)
    assert np.array_equal(meant.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("types", ["halves", "bfloats", "bytes"])
def test_a_variant_of_each_type_is_found_and_exported_with_hosts_that_agree(
    types: str, tmp_path: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, run, exported = program(types, tmp_path), tmp_path / "run", tmp_path / "exported"
    asked = [str(file), "--variants", "3", "--families", "naive", "--out", str(run)]
    assert main([*asked, "--device", device.name]) == 0
    assert Run(run).front
    assert main(["pick", str(run), "--fastest", "--export", str(exported)]) == 0
    env = vendors(device, tmp_path)
    data = exported / "data" / "expected.bin"
    right = data.read_bytes()
    for command in hosts(exported):
        ran = ran_in(exported, command, env)
        assert ran.returncode == 0, ran.stderr
        data.write_bytes((2 * np.frombuffer(right) + 1).tobytes())
        ran = ran_in(exported, command, env)
        data.write_bytes(right)
        assert ran.returncode == 1
        assert "wrong" in ran.stderr
    monkeypatch.syspath_prepend(str(exported / "python"))
    monkeypatch.delitem(sys.modules, "conv", raising=False)
    x, w, to, *_ = TYPES[types]
    image, weights = drawn((6, 7, 3), x), drawn((4, 3, 3, 3), w)
    for name, array in (("image", image), ("weights", weights)):
        np.save(tmp_path / name, array)
    module = importlib.import_module("conv")
    kernels = module.Kernels(np.load(tmp_path / "weights.npy"), queue=open_device(device).queue)
    made = kernels(np.load(tmp_path / "image.npy"))
    meant = convolved(image, weights, to)
    assert np.array_equal(made.view(meant.dtype), meant)
