"""Tests of `python -m codegen`: values for a family's parameters, and messages about mistakes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codegen.__main__ import main
from codegen.compile import generate
from codegen.runtime.devices import Device
from codegen.runtime.results import BuildFailed, GuardViolated, PoisonFound, RunFailed, told
from codegen.runtime.session import Session
from explore import explore
from ir.errors import UserError
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse

MATMUL = """
matmul(a : [[float]K]M, b : [[float]N]K) =
  map(row -> map(column -> dot(row, column), transpose(b)), a)
where M = 8, N = 8, K = 8
"""
TILED = """
tiled(x : [float]24) =
  join(mapWorkgroup(0)(t -> mapLocal(0)(e -> e + e, t), split(T, x)))
where T = ?
"""
REGISTERS = ["--family", "registers", "--set", "tr=1", "--set", "tx=2", "--set", "v=4"]


@pytest.fixture
def matmul(tmp_path: Path) -> str:
    path = tmp_path / "matmul.lift"
    path.write_text(MATMUL)
    return str(path)


def test_a_familys_parameters_take_the_values_that_are_set(
    matmul: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([matmul, *REGISTERS, "--set", "k=2"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("// registers: tr=1 tx=2 v=4 k=2\n")
    assert "// 2 x 4 x 1 groups of 1 x 1 x 1" in text


def test_what_is_chosen_is_said(matmul: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([matmul, *REGISTERS]) == 0
    heading = capsys.readouterr().out.splitlines()[0]
    assert heading.startswith("// registers: tr=1 tx=2 v=4, k=")
    assert heading.endswith(" chosen (--set gives others)")


def test_open_sizes_of_a_lowered_program_are_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tiled.lift"
    path.write_text(TILED)
    assert main([str(path)]) == 0
    assert capsys.readouterr().out.startswith("// tiled: T=")
    assert main([str(path), "--set", "T=8"]) == 0
    assert "// 3 x 1 x 1 groups of 8 x 1 x 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "k=3"], "k = 3 does not divide 8 of split(k, row); k = 3 (you set it)"),
        (["--set", "v=5"], "v in {2, 4, 8, 16} (family registers tries these); v = 5 (you set it)"),
        (["--set", "q=1"], "registers has no parameter `q`; expected one of k, tr, tx, v"),
        (["--set", "N=0"], "an array's size is 0"),
        (["--form", "none"], "family registers has no form `none`"),
        (["--family", "fastest"], "no family `fastest`; expected one of naive, lift"),
    ],
)
def test_what_is_wrong_with_a_value_is_said(
    matmul: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([matmul, "--family", "registers", *words]) == 1
    assert message in capsys.readouterr().err


def test_a_program_without_a_family_has_its_own_sizes_only(
    matmul: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([matmul, "--set", "k=2"]) == 1
    assert "the program has no size `k`; did you mean" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--family", "naive"], REGISTERS])
def test_run_gives_what_the_interpreter_gives(
    session: Session, matmul: str, words: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out.npy"
    assert main(["run", matmul, *words, "--random", "3", "--output", str(out)]) == 0
    program = parse(MATMUL)
    assert np.array_equal(np.load(out), evaluate(program, random_inputs(program, 3)))


def test_run_takes_some_inputs_from_files_in_any_precision(
    session: Session, matmul: str, tmp_path: Path
) -> None:
    a, out = tmp_path / "a.npy", tmp_path / "out.npy"
    np.save(a, np.eye(8))
    words = ["--input", f"a={a}", "--random", "3", "--output", str(out)]
    assert main(["run", matmul, *words]) == 0
    assert np.array_equal(np.load(out), random_inputs(parse(MATMUL), 3)["b"])


PAIRS = """
swap(xs : [(float, [int]2)]3, y : (half, float)) = (map((a, b) -> (b, a), xs), y.1)
"""


def test_tuples_are_run_component_by_component(tmp_path: Path, session: Session) -> None:
    program, out = tmp_path / "swap.lift", tmp_path / "out.npz"
    program.write_text(PAIRS.replace("half", "int"))
    assert main(["run", str(program), "--random", "3", "--output", str(out)]) == 0
    parsed = parse(program.read_text())
    (b, a), y = evaluate(parsed, random_inputs(parsed, 3, small=False))
    with np.load(out) as found:
        kinds = [found[name].dtype for name in found.files]
        assert kinds == [np.int32, np.float32, np.float32]
        for name, expected in zip(found.files, (b, a, y), strict=True):
            assert np.array_equal(found[name], expected)


def test_what_is_explored_takes_no_tuples(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="input xs is made of tuples"):
        explore(PAIRS, out=tmp_path / "run")


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (RunFailed("allocating 7 bytes: out of memory"), "on the device: allocating 7 bytes"),
        (GuardViolated("k", "out", 64), "kernel 'k' wrote outside buffer 'out', at byte 64"),
        (PoisonFound("out", 3, (1, 2)), r"3 elements of 'out' were left unwritten, first \[1, 2\]"),
        (BuildFailed("line 1: what"), "the compiler of the device refuses .*\nline 1: what"),
    ],
)
def test_what_goes_wrong_on_a_device_is_told(failure: Exception, words: str) -> None:
    with pytest.raises(UserError, match=words), told("the device"):
        raise failure


def test_what_a_compiler_refuses_ends_in_words(
    device: Device,
    matmul: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PYOPENCL_BUILD_OPTIONS", "--no-such-option")
    assert main(["run", matmul, "--random", "1", "--output", str(tmp_path / "out.npy")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"error: the compiler of {device.name} refuses the program:\n")
    assert "no-such-option" in said


def test_a_device_with_too_little_memory_is_told(session: Session) -> None:
    made = generate(parse("f(xs : [float]64) = mapGlobal(0)(x -> x + 1.0, xs)"))
    small = Session(replace(session.device, global_bytes=256), session.handle)
    with pytest.raises(UserError, match=r"needs 512 bytes of memory, .* has 256"):
        small.build(made.plan)
    small = Session(replace(session.device, max_alloc_bytes=128), session.handle)
    with pytest.raises(UserError, match=r"'xs' takes 256 bytes, .* gives at most 128 at once"):
        small.build(made.plan)
