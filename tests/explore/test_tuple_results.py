"""Tests of programs whose result is a tuple: their search, their host programs, and the library in
C."""

from pathlib import Path

import numpy as np
import pytest

from codegen.runtime.devices import Device
from explore.__main__ import main
from explore.measure.reference import Reference, reference
from explore.measure.reference_file import hash_of, load_reference, stored_reference
from explore.run.run import Run
from ir.parse import parse
from tests.explore.test_run import hosts, ran_in, vendors

PROGRAM = """
largest(image : [[float]7]5, const scale : [float]5) =
  map((row, s) -> (argmax(map(x -> x * s, row)),
                   (sum(row), map(window -> map(x -> char_sat(x), window), slide(3, 2, row)))),
    zip(image, scale))
"""


def test_the_error_of_a_tuple_is_the_largest_of_its_arrays() -> None:
    right = Reference((np.ones(4), np.full(4, 2.0)))
    assert right.error((np.ones(4), np.full(4, 2.5))) == 0.25
    assert right.error((np.full(4, 1.5), np.full(4, 2.0))) == 0.5
    assert right.error((np.ones(4), np.full(4, np.nan))) == np.inf
    assert right.error((np.full(4, np.nan), np.full(4, 2.0))) == np.inf
    assert right.alone is None


def test_what_is_right_of_a_tuple_is_kept_array_by_array(tmp_path: Path) -> None:
    program = parse(PROGRAM)
    file = stored_reference(program, 3, tmp_path)
    found, again = load_reference(file), reference(program, 3)
    assert [a.shape for a in found.outputs] == [(5,), (5,), (5, 3, 3)]
    assert all(map(np.array_equal, found.outputs, again.outputs))
    assert found.exact is not None
    assert again.exact is not None
    for kept, meant in zip(found.exact, again.exact, strict=True):
        assert np.array_equal(kept.output, meant.output)
        assert (kept.scale, kept.rounding) == (meant.scale, meant.rounding)
    before = file.stat().st_mtime_ns
    assert stored_reference(program, 3, tmp_path, hash_of(file)) == file
    assert file.stat().st_mtime_ns == before  # it is not computed again


@pytest.mark.long
def test_a_program_that_gives_a_tuple_is_explored_and_exported(
    tmp_path: Path, device: Device
) -> None:
    file, run, exported = tmp_path / "p.lift", tmp_path / "run", tmp_path / "exported"
    file.write_text(PROGRAM)
    asked = [str(file), "--variants", "2", "--families", "naive", "--out", str(run)]
    assert main([*asked, "--device", device.name]) == 0
    best = Run(run).pick()
    image, scale = np.random.default_rng().integers(-9, 9, (2, 5, 7)).astype(np.float32)
    index, (total, windows) = best(image=image, scale=scale[:, 0])
    assert np.array_equal(index, (image * scale[:, :1]).argmax(1))
    assert np.array_equal(total, image.sum(1))
    assert np.array_equal(windows, np.stack([image[:, k : k + 3] for k in (0, 2, 4)], 1))
    assert windows.dtype == np.int8
    assert main(["pick", str(run), "--fastest", "--export", str(exported)]) == 0
    env = vendors(device, tmp_path)
    data = exported / "data" / "expected.bin"
    right = np.fromfile(data)
    for command in hosts(exported):
        data.write_bytes(right.tobytes())
        ran = ran_in(exported, command, env)
        assert ran.returncode == 0, ran.stderr
        changed = right.copy()
        changed[np.random.default_rng().integers(right.size)] += 3.0  # of any of its arrays
        data.write_bytes(changed.tobytes())
        ran = ran_in(exported, command, env)
        assert ran.returncode == 1
        assert "wrong" in ran.stderr
