"""Tests of commands on runs whose folder is corrupted at random: they end with messages, touch
nothing outside the folder, and build no text from it.

`python -m benchmarks.corrupt_runs` does the same a thousand times.
"""

from pathlib import Path

import pytest

from benchmarks.corrupt_runs import small_run
from codegen.plan import Plan
from codegen.runtime.devices import Device
from codegen.runtime.session import open_device
from explore.run.run import Run
from explore.run_store.guarded_database import FILE
from tests.support.attacked_runs import attack, builds_with_mark
from tests.support.corruptions import KINDS, Corruption, corruptions

COUNT, SEED = 60, 20_261_122


@pytest.fixture(scope="module")
def sound(device: Device, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run(tmp_path_factory.mktemp("sound") / "run", str(device.index))


@pytest.mark.parametrize("corruption", list(corruptions(COUNT, SEED)), ids=str)
def test_a_corrupted_run_ends_in_words(corruption: Corruption, sound: Path, tmp_path: Path) -> None:
    assert attack(corruption, sound, tmp_path).faults == ()


def test_a_planted_kernel_that_is_built_is_seen(
    sound: Path, tmp_path: Path, device: Device
) -> None:
    """If a planted kernel is built, its mark is found in the cache of builds; otherwise the other
    tests of this file would show nothing."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / FILE).write_bytes((sound / FILE).read_bytes())
    Corruption("planted", 0).apply(folder, tmp_path)
    plan = Run(folder).front[0].variant.plan
    assert isinstance(plan, Plan)
    open_device(device).build(plan)
    marked = builds_with_mark(since=0)
    assert marked
    for file in marked:
        file.unlink()


def test_every_kind_of_corruption_is_tried() -> None:
    assert set(KINDS) == {corruption.name for corruption in corruptions(COUNT, SEED)}
