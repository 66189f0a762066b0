"""Tests of the commands of `ir`: what they print, and that they end with a message when they
fail."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ir.__main__ import main
from ir.parse import parse

DOT = "dot2(xs : [float]N, ys : [float]N) = dot(xs, ys) where N = 4"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "dot.lift"
    path.write_text(DOT)
    return path


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "ir", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


@dataclass(frozen=True)
class Ended:
    """The exit status of a command that was called in this process, and the text that it
    printed."""

    returncode: int
    stdout: str
    stderr: str


Called = Callable[..., Ended]


@pytest.fixture
def called(capsys: pytest.CaptureFixture[str]) -> Called:
    """The function that runs the command `ir` with its words in this process, which is a hundred
    times as quick as a process of its own. An exception for which the command has no message is
    raised in the test."""

    def call(*words: str | Path) -> Ended:
        try:
            status = main([*map(str, words)])
        except SystemExit as bad_usage:
            status = int(bad_usage.code or 0)
        return Ended(status, *capsys.readouterr())

    return call


def test_it_prints_the_typed_program(program: Path) -> None:
    done = command(program, "--set", "N=8")
    assert done.returncode == 0
    assert done.stdout.endswith("-- dot2 : float\n")
    assert parse(done.stdout) == parse(DOT, set={"N": 8})


def test_it_evaluates_given_and_random_inputs(program: Path, tmp_path: Path) -> None:
    xs, ys, out = tmp_path / "xs.npy", tmp_path / "ys.npy", tmp_path / "result"
    np.save(xs, np.arange(4.0))
    np.save(ys, np.arange(4))
    words = ("eval", program, "--output", out, "--input", f"xs={xs}")
    assert command(*words, "--input", f"ys={ys}").returncode == 0
    assert np.load(out) == 14
    assert command(*words, "--random", "1", "--dtype", "float32").returncode == 0
    assert np.load(out).dtype == np.float32


def test_random_inputs_of_whole_types_are_from_their_whole_range(tmp_path: Path) -> None:
    path, out = tmp_path / "p.lift", tmp_path / "o.npz"
    path.write_text("p(xs : [char]2000, ys : [int]2000, zs : [float]2000) = (xs, ys, zs)")
    assert command("eval", path, "--output", out, "--random", "1").returncode == 0
    xs, ys, zs = np.load(out).values()
    assert (xs.min(), xs.max()) == (-128, 127)
    assert (ys.min(), ys.max()) == (-(2**31), 2**31 - 1)
    assert (zs.min(), zs.max()) == (-3, 3)


def test_tuples_are_read_and_written_as_npz(tmp_path: Path) -> None:
    path, data, out = tmp_path / "p.lift", tmp_path / "d.npz", tmp_path / "o.npz"
    path.write_text("p(xs : [(float, int)]3) = (map((a, b) -> b, xs), map((a, b) -> a, xs))")
    np.savez(data, np.arange(3.0), np.arange(3) + 5)
    assert command("eval", path, "--input", f"xs={data}", "--output", out).returncode == 0
    with np.load(out) as found:
        np.testing.assert_array_equal(found["arr_0"], [5, 6, 7])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.lift"], "cannot read none.lift"),
        (["/dev/zero"], "cannot read /dev/zero: expected a program of at most 1048576 bytes"),
        (["PROGRAM", "--set", "M=3"], "no size `M`"),
        (["PROGRAM", "--set", "N=0"], "an array's size is 0"),
        (["eval", "PROGRAM", "--output", "OUT"], "no input given for xs"),
        (["eval", "PROGRAM", "--output", "OUT", "--input", "zs=none.npy"], "cannot read none.npy"),
        (["eval", "PROGRAM", "--output", "OUT", "--input", "xs=PROGRAM"], "in .npy or .npz form"),
        (["eval", "PROGRAM", "--output", "OUT", "--input", "xs=/dev/zero"], "begins with b'\\x00"),
        (
            ["eval", "PROGRAM", "--output", "OUT", "--input", "xs=DATA"],
            "has shape (4,), found an array of shape (3,)",
        ),
        (
            ["eval", "PROGRAM", "--output", "OUT", "--input", "xs=DATA", "--input", "xs=DATA"],
            "twice",
        ),
        (["eval", "PROGRAM", "--output", "no/such/folder", "--random", "0"], "cannot write"),
        (
            ["eval", "PROGRAM", "--output", "OUT", "--random", "0", "--set", "N=10000000000"],
            "at most 1,073,741,824 are drawn at random",
        ),
    ],
)
def test_a_mistake_is_a_message_and_status_1(
    words: list[str], message: str, program: Path, tmp_path: Path, called: Called
) -> None:
    data = tmp_path / "data.npy"
    np.save(data, np.zeros(3))
    places = {"PROGRAM": str(program), "DATA": str(data), "OUT": str(tmp_path / "out.npy")}
    for name, place in places.items():
        words = [word.replace(name, place) for word in words]
    done = called(*words)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["PROGRAM", "--set", "N"],
        ["PROGRAM", "--set", "N=1.5"],
        ["PROGRAM", "--wrong"],
        ["eval", "PROGRAM"],
        ["eval", "PROGRAM", "--output", "out.npy", "--input", "xs"],
        ["eval", "PROGRAM", "--output", "out.npy", "--random", "-1"],
        ["eval", "PROGRAM", "--output", "out.npy", "--random", "0", "--dtype", "float8"],
    ],
)
def test_bad_usage_is_status_2(words: list[str], program: Path, called: Called) -> None:
    done = called(*[word.replace("PROGRAM", str(program)) for word in words])
    assert done.returncode == 2
    assert "usage:" in done.stderr


def test_a_full_disk_under_the_output_is_told(program: Path) -> None:
    """If the output cannot be written because the disk is full, the command ends with status 1, and
    with one line that says so."""
    with open("/dev/full", "w") as full:
        line = [sys.executable, "-m", "ir", str(program)]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: cannot write what there is to say: No space left on device\n"


def test_what_a_terminal_has_no_code_for_is_spelled_out(program: Path) -> None:
    """On a terminal that knows ASCII alone, other characters of a program are printed as
    escapes."""
    program.write_text(f"-- 3\u00d73\n{DOT.replace('xs', 'ж')}".replace("ж", "x\u00e9"))
    line = [sys.executable, "-m", "ir", str(program)]
    ascii = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(line, capture_output=True, text=True, env=ascii, check=False)
    assert "Traceback" not in done.stderr
    assert "\\xe9" in done.stdout + done.stderr


def test_deep_programs_end_in_a_message(tmp_path: Path) -> None:
    path = tmp_path / "deep.lift"
    path.write_text("f(x : [float]4) = " + "map(x -> x, " * 149 + "x" + ")" * 149)
    assert command(path).returncode == 0
    path.write_text("f(x : float) = " + "exp(" * 10_000 + "x" + ")" * 10_000)
    done = command(path)
    assert done.returncode == 1
    assert "nested too deep" in done.stderr


def nested(dimensions: int) -> str:
    """The text of a program that doubles each number of an array of so many dimensions."""
    t, e = "float", "x * 2.0"
    for k in range(dimensions, 0, -1):
        t = f"[{t}]1"
        e = f"map({'x' if k == dimensions else f'x{k}'} -> {e}, x{k - 1})"
    return f"f(x0 : {t}) = {e}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (nested(70), "an array of 70 dimensions; expected at most 64"),
        (
            "f() = map(i -> i, generate(1000000000000, i -> i))",
            "take 16,000,000,000,000 bytes; this machine has",
        ),
    ],
)
def test_what_no_computer_can_hold_is_told(
    tmp_path: Path, text: str, words: str, called: Called
) -> None:
    path = tmp_path / "f.lift"
    path.write_text(text)
    done = called("eval", path, "--random", "1", "--output", tmp_path / "out.npy")
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_arrays_have_64_dimensions_at_most(tmp_path: Path) -> None:
    path = tmp_path / "f.lift"
    path.write_text(nested(64))
    assert command("eval", path, "--random", "1", "--output", tmp_path / "o.npy").returncode == 0
