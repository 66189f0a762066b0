"""Tests of exploring on all kinds of devices by one command: on which devices, in what order, and
what is told of their runs side by side."""

from dataclasses import replace
from pathlib import Path

import pytest

from codegen.runtime.devices import Broken, Device, devices, of_each_kind, working
from constraints.devices import H200
from explore.__main__ import main
from explore.commands.each_device import explored_on_each, folder_names, shifts
from explore.commands.whose_hands import Workplace
from explore.options.options import Options
from explore.report.side_by_side import Side, across, side_lines, write_sides
from explore.results.front import front
from explore.run.run import Run
from explore.run.source import Source
from explore.run.target import Target, target_of
from explore.run.worker_pools import Here
from tests.support.sample_runs import sample_run

TEXT = "double(xs : [float]n) = map(x -> x + x, xs) where n = 24"
PLAIN = Device(
    0, "A", "P", "3.0", "1", "gpu", 4, 64, (64, 64, 64), 1, True, 1, 1, False, False, "l", 0
)


def test_a_device_of_each_kind_is_explored_and_no_simulator_beside_real_ones() -> None:
    same = replace(PLAIN, index=1, ordinal=1)
    newer = replace(PLAIN, index=2, driver="2")
    simulator = replace(PLAIN, index=3, name="S", simulator=True)
    broken = Broken("P", "B", "no", "mend it")
    assert of_each_kind((PLAIN, same, newer, simulator, broken)) == (PLAIN, newer)
    assert of_each_kind((simulator, broken)) == (simulator,)
    assert of_each_kind((broken,)) == ()


def test_devices_that_builds_disturb_are_explored_one_after_the_other() -> None:
    kinds = ("cpu", "gpu", "cpu", "gpu")
    targets = [Target(H200, replace(PLAIN, kind=kind)) for kind in kinds]
    assert shifts(targets) == [[1, 3], [0], [2]]
    assert shifts(targets[::2]) == [[0], [1]]


def test_folders_are_named_after_devices_and_no_two_alike() -> None:
    names = folder_names(["Intel(R) Xeon(R) @ 2.1 GHz", "NVIDIA H200", "NVIDIA H200", "../…"])
    assert names == ["intel-xeon-2-1-ghz", "nvidia-h200", "nvidia-h200-2", "device"]


def test_sides_tell_what_a_variant_of_one_front_takes_on_the_other_device(tmp_path: Path) -> None:
    here, there = (tuple(sample_run(60, seed)) for seed in (1, 2))
    shared = replace(here[0], outcome=there[0].outcome)
    sides = [Side("A <one>", "a", here), Side("B", "b", (shared, *there[1:]))]
    rows = {row.id: row for row in across(sides)}
    assert rows.keys() >= {r.variant.id for r in (*front(here), *front(there[1:]))}
    for row in rows.values():
        assert any(row.on_front)
        assert {r.variant.id for r in row.records if r is not None} == {row.id}
    write_sides(tmp_path / "sides.html", "conv", sides)
    lines, page = list(side_lines(sides)), (tmp_path / "sides.html").read_text(encoding="utf-8")
    assert len(lines) == 2 + 1 + len(rows) + 1
    for name in rows:
        assert name in page
        assert any(line.startswith(name) for line in lines)
    assert "A &lt;one&gt;" in page
    assert "<one>" not in page
    assert 'href="b/report.html"' in page


@pytest.mark.no_cover
def test_one_command_explores_each_kind_and_shows_their_fronts_side_by_side(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = {device.simulator: device for device in reversed(working(devices()))}
    targets = [target_of(found, None, ()) for found in kinds.values()]
    options = Options(variants=2, families=("naive",), jobs=1)
    place = Workplace(Here(), devices)
    source = Source(TEXT, "<test>")
    assert explored_on_each(source, options, targets, tmp_path, False, place=place) == 0
    inner = folder_names([t.name for t in targets])
    said = capsys.readouterr().out
    for name, target in zip(inner, targets, strict=True):
        run = Run(tmp_path / name)
        assert run.environment.device == target.name
        assert run.front
        assert f"{target.name} ({target.platform})" in (tmp_path / "report.html").read_text()
        assert f"{run.front[0].variant.id}" in said
    assert main(["front", str(tmp_path)]) == 0
    assert "on that device's front" in capsys.readouterr().out
    (tmp_path / "report.html").unlink()
    assert main(["report", str(tmp_path)]) == 0
    assert (tmp_path / "report.html").is_file()
    assert main(["front", str(tmp_path), "--json"]) == 1
