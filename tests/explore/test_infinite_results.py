"""Tests that results with infinities and NaN are compared as they should: what is alike agrees, and
a kernel that has one too many or too few is wrong."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codegen.compile import generate
from codegen.runtime.devices import Device
from codegen.runtime.session import Session
from explore import explore
from explore.__main__ import main
from explore.measure.differences import CHUNK, largest_difference, norm, norm_of_differences
from explore.measure.reference import Expected, inputs_of, reference, relative_error
from explore.space.lowering import lowering
from ir.parse import parse
from tests.explore.test_run import hosts, ran_in, vendors

INF, NAN = np.inf, np.nan
SPECIAL = "p(xs : [float]70) = map(x -> select(x > 0.5, 1.0 / (x - x), log(x) * 3.0), xs)"


def test_only_what_is_alike_agrees() -> None:
    right = np.array([INF, -INF, NAN, 1.0, 2.0])
    assert relative_error(right.astype(np.float32), right) == 0.0
    assert norm(right) == pytest.approx(np.sqrt(5))
    off = np.array([INF, -INF, NAN, 1.0, 3.0])
    assert not Expected(right, 0.0).agrees(off, 10.0)
    assert Expected(right, 0.0).agrees(right, 0.0)
    for place in range(5):
        for other in (INF, -INF, NAN, 7.0):
            out = right.copy()
            out[place] = other
            if not np.array_equal(out, right, equal_nan=True):
                finite = np.isfinite(right[place]) and other == 7.0
                assert (relative_error(out, right) < INF) == finite
                assert (largest_difference(out, right) < INF) == finite


@pytest.mark.parametrize("place", [0, CHUNK - 1, CHUNK, 2 * CHUNK])
def test_each_chunk_is_looked_at(place: int) -> None:
    right = np.ones(2 * CHUNK + 1)
    for other in (INF, -INF, NAN):
        out = right.copy()
        out[place] = other
        assert norm_of_differences(out, right) == norm_of_differences(right, out) == INF
        assert norm_of_differences(out, out.copy()) == 0.0


def test_what_a_float_does_not_hold_is_expected_to_be_infinite() -> None:
    program = parse("p(xs : [float]9) = map(x -> (exp(500.0 + x), -exp(500.0 + x), x), xs)")
    up, down, kept = reference(program, 0).outputs
    assert (up == INF).all()
    assert (down == -INF).all()
    assert np.isfinite(kept).all()


def test_a_program_with_infinite_results_is_explored_and_its_hosts_tell_them_apart(
    tmp_path: Path, device: Device
) -> None:
    run = explore(SPECIAL, variants=4, device=device, out=tmp_path / "run")
    assert run.front
    folder, env = tmp_path / "exported", vendors(device, tmp_path)
    assert main(["pick", str(tmp_path / "run"), "--fastest", "--export", str(folder)]) == 0
    data = folder / "data" / "expected.bin"
    right = np.fromfile(data)
    infinite, none, finite = (
        int(np.flatnonzero(kind(right))[0]) for kind in (np.isinf, np.isnan, np.isfinite)
    )
    changes = ((none, 1.0), (infinite, -INF), (infinite, 1.0), (none, INF), (finite, NAN))
    for command in hosts(folder):
        ran = ran_in(folder, command, env)
        assert ran.returncode == 0, ran.stderr
        for place, other in changes[: 1 if command[0] == sys.executable else None]:
            np.where(np.arange(right.size) == place, other, right).tofile(data)
            assert ran_in(folder, command, env).returncode == 1, (command, place, other)
        right.tofile(data)


@pytest.mark.parametrize(
    ("old", "new"),
    [("0.5f", "0.9f"), ("1.0f /", "-1.0f /"), ("3.0f", "2.0f"), ("log(", "fabs(")],
)
def test_a_wrong_kernel_is_not_taken_for_right(session: Session, old: str, new: str) -> None:
    program = parse(SPECIAL)
    plan = generate(lowering(program, "naive").program).plan
    inputs, right = inputs_of(program, 3), reference(program, 3)
    assert right.error(session.build(plan)(inputs)) < 1e-5
    kernels = tuple(replace(k, text=k.text.replace(old, new)) for k in plan.kernels)
    assert kernels != plan.kernels
    wrong = session.build(replace(plan, kernels=kernels))(inputs)
    assert right.error(wrong) > 0.01
