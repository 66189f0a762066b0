"""Tests of what becomes of a toolchain or a machine that does not work: it is told, and never kept
as the fault of a kernel."""

from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.runtime.devices import Device
from explore.__main__ import main
from explore.offline.compile_best import UNCOUNTED
from explore.results.kernel_code import KernelCode, Refusal
from explore.results.records import Failed, Record
from explore.run.run import Run
from explore.toolchain.compile_kernel import WARM, CompileKernel, compile_kernel
from explore.toolchain.toolchain import VARIABLE, Toolchain, installed
from tests.support.played_toolchain import behave, played_toolchain

ROWS = "rows(xs : [[float]N]M) = map(row -> sum(row), xs) where M = 64, N = 64"
TEXT = "__kernel void scale_(__global float *xs) {}"


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    """A played toolchain, installed as the user's."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "toolchain"))
    return played_toolchain(tmp_path / "toolchain")


Explored = Callable[..., tuple[int, str]]


@pytest.fixture
def explored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Explored:
    """A run of a small program, and what it said, in one line."""
    (tmp_path / "rows.lift").write_text(ROWS)

    def run(out: str, *more: str, profile: str = "mali-g72") -> tuple[int, str]:
        given = ["--profile", profile, "--variants", "6", "--compile", "2", "--jobs", "1"]
        places = ["--records", str(tmp_path / "book.db"), "--out", str(tmp_path / out)]
        status = main([str(tmp_path / "rows.lift"), *given, *places, *more])
        told = capsys.readouterr()
        return status, " ".join(f"{told.out} {told.err}".split())

    return run


def failures(records: list[Record]) -> list[str]:
    """The reasons why variants failed, but for those whose code has no time."""
    reasons = [r.outcome.reason for r in records if isinstance(r.outcome, Failed)]
    return [reason for reason in reasons if reason != UNCOUNTED]


def compiled(records: list[Record]) -> list[Record]:
    """The variants that were compiled: the played compiler tells nothing of their loops."""
    return [r for r in records if isinstance(r.outcome, Failed) and r.outcome.reason == UNCOUNTED]


@pytest.mark.parametrize(
    ("mood", "kind", "words"),
    [
        ("works", KernelCode, ""),
        ("refuses scale_", Refusal, "error: no"),
        ("crashes scale_", Failed, "status"),
        ("lacks scale_", Failed, "no reason"),  # of memory, by OpenCL's number
        ("no start", Failed, "does not start"),
    ],
)
def test_a_refusal_is_what_the_compiler_says_of_a_kernel(
    toolchain: Toolchain, mood: str, kind: type, words: str
) -> None:
    behave(toolchain, mood)
    found = compile_kernel(CompileKernel(0, TEXT, (64, 1, 1), (64, 1, 1), toolchain, "mali-g72"))
    assert isinstance(found, kind)
    assert words in getattr(found, "words", "") + getattr(found, "reason", "")


def test_a_machine_that_cannot_write_is_told_with_one_file(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    warm = toolchain.folder / WARM / "mali-g72"
    warm.mkdir(parents=True)
    (warm / "a").symlink_to("missing")
    (warm / "b").symlink_to("missing")
    found = compile_kernel(CompileKernel(0, TEXT, (64, 1, 1), (64, 1, 1), toolchain, "mali-g72"))
    assert isinstance(found, Failed)
    assert found.reason.startswith("files cannot be read or written: [Errno 2] No such file")
    assert found.reason.count("No such file") == 1


def test_a_toolchain_may_lie_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "one: here")
    played_toolchain(tmp_path / "one: here")
    found = installed()
    assert found is not None
    code = compile_kernel(CompileKernel(0, TEXT, (64, 1, 1), (64, 1, 1), found, "mali-g72"))
    assert isinstance(code, KernelCode), code


def test_a_toolchain_without_an_emulator_is_no_refusal(toolchain: Toolchain) -> None:
    (toolchain.host / "usr").rename(toolchain.host / "elsewhere")
    found = compile_kernel(CompileKernel(0, TEXT, (64, 1, 1), (64, 1, 1), toolchain, "mali-g72"))
    assert isinstance(found, Failed)
    assert "has no emulator" in found.reason


@pytest.mark.parametrize("how", ["no start", "no emulator", "refuses small"])
def test_a_run_does_not_begin_with_a_toolchain_that_does_not_work(
    toolchain: Toolchain, explored: Explored, tmp_path: Path, how: str
) -> None:
    behave(toolchain, how)
    if how == "no emulator":
        (toolchain.host / "usr/bin/qemu-aarch64").unlink()
    status, said = explored("first")
    assert status == 1
    assert "compile a small kernel for mali-g72, but: " in said
    assert said.count("`explore toolchain mali --remove`") == 1
    assert not (tmp_path / "first").exists()
    status, said = explored("second", "--compile", "0")
    assert status == 0


def test_a_toolchain_that_breaks_on_the_way_is_told_once_and_fails_no_variant(
    toolchain: Toolchain, explored: Explored, tmp_path: Path
) -> None:
    behave(toolchain, "breaks rows_")
    status, said = explored("first")
    assert status == 0
    assert said.count("no more is compiled") == 1
    assert "0 kernels compiled, 0 kept before" in said
    assert failures(Run(tmp_path / "first").records) == []
    behave(toolchain, "works")
    status, said = explored("second")
    assert "0 kept before" in said
    assert len(compiled(Run(tmp_path / "second").records)) == 2


@pytest.mark.parametrize(("mood", "kept"), [("refuses rows_", True), ("crashes rows_", False)])
def test_only_what_the_compiler_said_is_kept(
    toolchain: Toolchain, explored: Explored, tmp_path: Path, mood: str, kept: bool
) -> None:
    behave(toolchain, mood)
    status, said = explored("first")
    assert status == 0
    assert "2 of 2 variants have no time by their code: " in said
    assert len(failures(Run(tmp_path / "first").records)) == 2
    behave(toolchain, "works")
    status, said = explored("second")
    assert ("0 kernels compiled" in said) == kept
    assert len(compiled(Run(tmp_path / "second").records)) == (0 if kept else 2)


def test_a_run_that_goes_on_compiles_no_more_than_was_asked_for(
    toolchain: Toolchain, explored: Explored, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    behave(toolchain, "crashes rows_")  # of which the records keep nothing
    explored("first", "--compile", "3")
    tried = {r.variant.id for r in Run(tmp_path / "first").records if r.round}
    assert main(["resume", str(tmp_path / "first"), "--no-records"]) == 0
    assert "3 variants were compiled before: no more are" in capsys.readouterr().err
    assert {r.variant.id for r in Run(tmp_path / "first").records if r.round} == tried


@pytest.mark.parametrize("where", [["--device", "cpu"], ["--profile", "h200"]])
def test_variants_are_compiled_only_for_devices_that_are_not_here(
    device: Device, where: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.lift").write_text(ROWS)
    given = [str(tmp_path / "rows.lift"), *where, "--out", str(tmp_path / "run")]
    assert main([*given, "--compile", "3"]) == 1
    assert "--compile: expected --profile with a device that is not here" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
