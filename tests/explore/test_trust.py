"""Tests of a run whose folder somebody else changed: no kernel from it is run or exported."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codegen.runtime.devices import Device
from explore.__main__ import main
from explore.options.options import Options
from explore.results.records import Record
from explore.run.run import Run, start
from explore.run.source import Source
from explore.run.target import Target, profile_of, stored_profile
from explore.run.trusted_plans import TrustedPlans
from explore.run_store.guarded_database import FILE
from ir.errors import UserError
from tests.support.changed_runs import (
    PLANTED,
    change_details,
    change_environment,
    plant_printf,
    sql,
)

TEXT = """-- A product of matrices
product(a : [[float]k]m, b : [[float]k]n) = map(x -> map(y -> dot(x, y), b), a)
where k = 8, m = 16, n = 24
"""


@pytest.fixture(scope="module")
def made(device: Device, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trust") / "run"
    options = Options(variants=4, families=("naive", "registers"), jobs=1)
    start(Source(TEXT, "product.lift"), options, Target(profile_of(device), device), folder)
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "run")


def best(run: Path) -> Record:
    return Run(run).front[0]


def test_what_is_stored_is_made_again_just_so(made: Path) -> None:
    records = Run(made).records
    plans = TrustedPlans(Run(made).environment, jobs=1).all(records)
    assert plans == [r.variant.plan for r in records]


def test_the_numbers_of_the_device_are_stored_with_a_run(made: Path, device: Device) -> None:
    known = Run(made).environment
    assert stored_profile(known, Options.from_json(known.options)) == profile_of(device)


def with_other_text(values: dict[str, Any]) -> None:
    values["kernels"][0]["text"] = values["kernels"][0]["text"].replace(" + ", " - ", 1)


def with_a_blank_line(values: dict[str, Any]) -> None:
    values["kernels"][0]["text"] += "\n"


def with_other_launch(values: dict[str, Any]) -> None:
    values["kernels"][0]["global_size"][0] *= 2


def with_less_memory(values: dict[str, Any]) -> None:
    values["buffers"][0]["bytes"] //= 2


CHANGES = [plant_printf, with_other_text, with_other_launch, with_less_memory]


@pytest.mark.parametrize("change", CHANGES)
def test_kernels_that_were_changed_are_refused(
    run: Path,
    tmp_path: Path,
    change: Callable[[dict[str, Any]], None],
    capfd: pytest.CaptureFixture[str],
) -> None:
    name = best(run).variant.id
    assert change_details(run, change)
    export = tmp_path / "export"
    for command in (
        ["pick", str(run), "--export", str(export)],
        ["pick", str(run), "--export", str(export), "--trust"],
        ["show", str(run), name, "--source"],
        ["resume", str(run)],
        ["compare", str(run), "--against", "torch"],
    ):
        assert main(command) == 1
        out, err = capfd.readouterr()
        assert f"what is stored of {name} is not what its form and parameters make" in err
        assert PLANTED not in out + err
    with pytest.raises(UserError, match="is not what its form"):
        Run(run).pick()
    assert not export.exists()


def test_what_is_only_looked_at_needs_no_device_and_runs_nothing(
    run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    change_details(run, plant_printf)
    name = best(run).variant.id
    for command in (["front"], ["front", "--json"], ["show", name], ["show", "--json"], ["report"]):
        assert main([command[0], str(run), *command[1:]]) == 0
    out, _ = capfd.readouterr()
    assert f"\n{PLANTED}" not in out


def of_another_version(values: dict[str, Any]) -> None:
    values["version"] = "0.0.1+00000000"


def test_kernels_of_another_version_are_taken_if_they_are_made_again_just_so(
    run: Path, tmp_path: Path
) -> None:
    change_environment(run, of_another_version)
    assert main(["pick", str(run), "--export", str(tmp_path / "export")]) == 0
    plan = best(run).variant.plan
    assert plan is not None
    assert (tmp_path / "export" / "kernels.cl").read_text().endswith(plan.source)


def test_kernels_of_another_version_that_come_out_otherwise_need_trust(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_environment(run, of_another_version)
    change_details(run, with_a_blank_line)
    export = ["pick", str(run), "--export", str(tmp_path / "export")]
    assert main(export) == 1
    assert "--trust takes the kernels as they are stored" in capsys.readouterr().err
    assert main([*export, "--trust"]) == 0
    with pytest.raises(UserError, match="--trust"):
        Run(run).pick()
    assert Run(run).pick(trust=True).plan == best(run).variant.plan


def test_trust_goes_no_further_than_texts_that_are_proved(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    change_environment(run, of_another_version)
    change_details(run, plant_printf)
    assert main(["pick", str(run), "--export", str(tmp_path / "export"), "--trust"]) == 1
    assert "as they are stored, could not be proved safe" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("form = 'unheard of'", "unheard of"),
        ("family = 'occult'", "no family `occult`"),
        ("parameters = '{}'", "its parameters do not satisfy"),
        ("parameters = '{\"k\": 999999999}'", "its parameters do not satisfy"),
    ],
)
def test_a_variant_that_is_called_what_it_is_not(
    run: Path, tmp_path: Path, change: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, value = change.split(" = ", 1)
    if name == "form":
        change_details(run, lambda values: values.update(form=value.strip("'")))
    else:
        sql(run, f"UPDATE outcome SET {change}")
    record = next(r for r in Run(run).records if r.variant.id.startswith("registers"))
    export = ["--export", str(tmp_path / "export")]
    assert main(["pick", str(run), "--id", record.variant.id, *export]) == 1
    assert said in capsys.readouterr().err


def test_links_in_a_run_are_not_followed(run: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious.cl").write_text("precious")
    shutil.rmtree(run / "front")
    (run / "front").symlink_to(outside)
    for name in ("report.html", "reference.npz", "lock"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(outside / "precious.cl")
    assert main(["report", str(run)]) == 0
    assert main(["resume", str(run)]) == 1
    (run / "lock").unlink()
    assert main(["resume", str(run)]) == 1
    assert [file.name for file in outside.iterdir()] == ["precious.cl"]
    assert (outside / "precious.cl").read_text() == "precious"
    (run / "front").unlink()
    assert main(["resume", str(run)]) == 0
    assert (run / FILE).is_file()
