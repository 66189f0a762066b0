"""Tests of bundles: a run's best variants become a folder that runs elsewhere by a program in C or
one in Python, and the results that these bring back become a run. Results are checked, and refused
with a message if the bundle cannot have given them."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codegen.runtime.devices import Device
from explore.__main__ import main
from explore.bundle.absorb import absorb
from explore.bundle.drawn_inputs import DTYPES, drawn_input, sampled_places
from explore.bundle.write_bundle import COPIED, write_bundle
from explore.options.options import Options
from explore.results.records import Failed, Measured
from explore.run.run import Run, resume, start
from explore.run.source import Source
from explore.run.target import target_of
from ir.errors import UserError

TEXT = """tiny(const weights : [[float]K]M, xs : [float]N) =
  map(window -> map(kernel -> dot(window, kernel), weights), slide(K, 1, xs))
where K = 4, M = 8, N = 19
"""
OPTIONS = Options(variants=3, families=("naive", "registers"), seed=7, jobs=1)
Line = dict[str, Any]


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run for a CPU that is not here, which holds a bundle of two variants."""
    folder = tmp_path_factory.mktemp("bundled") / "run"
    run, _ = start(Source(TEXT, "<test>"), OPTIONS, target_of(None, "cpu", ()), folder, False)
    assert write_bundle(run.records, run.environment, 2, folder / "bundle", 1) == 2
    return folder


def results_of(bundle: Path, command: list[str], device: Device) -> Path:
    """The file of results that a bundle's program, started by `command` in the bundle's folder,
    writes about the variants on `device`."""
    (bundle / "results.jsonl").unlink(missing_ok=True)
    icd = bundle / "vendors" / "only.icd"
    icd.parent.mkdir(exist_ok=True)
    icd.write_text(device.library)
    paths = f"{Path(device.library).parent}:{os.environ.get('LD_LIBRARY_PATH', '')}".strip(":")
    env = os.environ | {"OCL_ICD_VENDORS": str(icd.parent), "LD_LIBRARY_PATH": paths}
    done = subprocess.run(command, cwd=bundle, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("error") == 2, done.stdout
    return Path(shutil.copy(bundle / "results.jsonl", bundle / f"{Path(command[-1]).stem}.jsonl"))


@pytest.fixture(scope="module")
def brought_back(bundled: Path, device: Device) -> Path:
    """The file of results that the bundle's program in Python writes on the device here."""
    return results_of(bundled / "bundle", [sys.executable, "bundle.py"], device)


def lines_of(file: Path) -> list[Line]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.skipif(not shutil.which("cc") or not Path("/usr/include/CL").exists(), reason="no cc")
def test_the_program_in_c_brings_back_what_that_in_python_does(
    bundled: Path,
    brought_back: Path,
    device: Device,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    strict = os.environ | {"CFLAGS": "-O1 -Wall -Wextra -Werror"}
    subprocess.run(["make", "-s"], cwd=bundled / "bundle", check=True, env=strict)
    theirs = lines_of(results_of(bundled / "bundle", ["./bundle"], device))
    ours = lines_of(brought_back)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.keys() == other.keys()
        taken = {"host", "launch_ns", "build_ns", "prepack_ns", "runs_ns", "count", "error"}
        assert {k: v for k, v in mine.items() if k not in taken} == {
            k: v for k, v in other.items() if k not in taken
        }
    file = str(bundled / "bundle" / "bundle.jsonl")
    assert main(["absorb", str(bundled), file, "--out", str(tmp_path / "new")]) == 0
    said = capsys.readouterr().out
    assert "2 variants ran there with right results" in said
    assert f"explore resume {tmp_path / 'new'}" in said


def test_a_run_is_made_of_what_comes_back_and_goes_on(
    bundled: Path, brought_back: Path, device: Device, tmp_path: Path
) -> None:
    made = absorb(bundled, brought_back, tmp_path / "new").run
    assert (made.environment.device, made.environment.driver) == (device.name, device.driver)
    assert all(isinstance(r.outcome, Measured) and (r.error or 0.0) < 1e-6 for r in made.records)
    before = {r.variant.id for r in made.records}
    resume(tmp_path / "new", False)
    after = [r for r in Run(tmp_path / "new").records if r.round == 0]
    assert len(after) == OPTIONS.variants > len(before)
    assert before == {r.variant.id for r in after[: len(before)]}


def test_a_variant_that_crashes_or_was_broken_off_has_failed_and_others_go_on(
    bundled: Path, brought_back: Path, device: Device, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(bundled / "bundle", bundle)
    (bundle / "results.jsonl").unlink()
    first, second = json.loads((bundle / "bundle.json").read_text())["variants"]
    (bundle / "results.jsonl").write_text(json.dumps({"begun": first["id"]}) + '\n{"id": "cut')
    (bundle / second["file"]).write_text("kernel void other() {}")
    done = subprocess.run(
        [sys.executable, "bundle.py"], cwd=bundle, check=True, capture_output=True, text=True
    )
    assert f"{second['id']}: failed: {second['file']} is not the text" in done.stdout
    found = [line for line in lines_of(bundle / "results.jsonl") if "status" in line]
    assert [line["id"] for line in found] == [first["id"], second["id"]]
    assert "went down" in found[0]["reason"]
    assert "is not the text" in found[1]["reason"]
    absorbed = absorb(bundled, bundle / "results.jsonl", tmp_path / "new")
    assert absorbed.measured == 0
    assert all(isinstance(r.outcome, Failed) for r in absorbed.run.records)


def copied(bundled: Path, tmp_path: Path) -> Path:
    """A copy of the bundle in a run's folder, without results."""
    bundle = tmp_path / "bundle"
    shutil.copytree(bundled / "bundle", bundle)
    (bundle / "results.jsonl").unlink(missing_ok=True)
    return bundle


HOSTS = ["C", "Python"]


def command_of(host: str, bundle: Path) -> list[str]:
    """The command that runs the bundle's program in C, which is made, or in Python."""
    if host == "Python":
        return [sys.executable, "bundle.py"]
    if not shutil.which("cc") or not Path("/usr/include/CL").exists():
        pytest.skip("no cc")
    subprocess.run(["make", "-s"], cwd=bundle, check=True)
    return ["./bundle"]


def env_of(bundle: Path) -> dict[str, str]:
    """The environment in which a bundle finds the device that `results_of` found before."""
    found = dict(os.environ)
    if (bundle / "vendors").is_dir():
        found["OCL_ICD_VENDORS"] = str(bundle / "vendors")
    return found


def said_by(host: str, bundle: Path) -> tuple[int, str]:
    """How the bundle's program in C or Python ends, and what it says."""
    done = subprocess.run(
        command_of(host, bundle), cwd=bundle, env=env_of(bundle), capture_output=True, text=True
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("bundle.json", '{"bundle": 1, ', "bundle.json is damaged or missing (Expecting"),
        ("bundle.json", '{"bundle": 1}', "it lacks expected, inputs, limit_s"),
        ("bundle.json", "[]", "bundle.json is damaged or missing"),
        ("bundle.json", None, "bundle.json is damaged or missing"),
        ("results.jsonl", '"x"\n', "results.jsonl is damaged"),
        ("drawn_inputs.py", None, "and the files of the bundle beside it"),
        ("expected.bin", "x", "expected.bin is not the one"),
        ("expected.bin", None, "expected.bin cannot be read"),
    ],
)
def test_a_bundle_that_is_damaged_is_told(
    bundled: Path, tmp_path: Path, file: str, content: str | None, said: str
) -> None:
    bundle = copied(bundled, tmp_path)
    if content is None:
        (bundle / file).unlink()
    else:
        (bundle / file).write_text(content)
    status, told = said_by("Python", bundle)
    assert status == 1
    assert said in told


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.usefixtures("brought_back")
def test_damage_of_expected_results_and_kernels_is_told_by_both(
    bundled: Path, tmp_path: Path, host: str
) -> None:
    bundle = copied(bundled, tmp_path)
    first, second = json.loads((bundle / "bundle.json").read_text())["variants"]
    (bundle / first["file"]).unlink()
    (bundle / second["file"]).write_text("kernel void other() {}")
    status, told = said_by(host, bundle)
    assert status == 0
    assert f"{first['id']}: failed: {first['file']}" in told
    assert "No such file" in told
    assert f"{second['id']}: failed: {second['file']} is not the text" in told
    size = (bundle / "expected.bin").stat().st_size
    (bundle / "expected.bin").write_bytes(bytes(size))
    status, told = said_by(host, bundle)
    assert status == 1
    assert "expected.bin is not the one" in told


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.usefixtures("brought_back")
def test_a_bundle_that_is_interrupted_goes_on(bundled: Path, tmp_path: Path, host: str) -> None:
    bundle = copied(bundled, tmp_path)
    results = bundle / "results.jsonl"
    command = command_of(host, bundle)
    started = subprocess.Popen(command, cwd=bundle, env=env_of(bundle), start_new_session=True)
    while started.poll() is None and (not results.exists() or b"begun" not in results.read_bytes()):
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGINT)
    assert started.wait() in (0, 130)  # 0: it was faster
    lines = lines_of(results)
    done = {line["id"] for line in lines if "id" in line}
    assert {line["begun"] for line in lines if "begun" in line} == done
    status, told = said_by(host, bundle)
    assert status == 0, told
    assert "went down" not in results.read_text()
    assert len([line for line in lines_of(results) if "runs_ns" in line]) == 2


def test_a_file_of_results_may_have_been_through_an_editor(
    bundled: Path, brought_back: Path, tmp_path: Path
) -> None:
    text = brought_back.read_text().replace("\n", "\r\n")
    (tmp_path / "x.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")
    assert absorb(bundled, tmp_path / "x.jsonl", tmp_path / "new").measured == 2


def changed(**fields: Any) -> Callable[[list[Line]], None]:
    """A function that changes the lines of a bundle's results: it sets these fields of the line of
    the first variant that ran."""

    def change(lines: list[Line]) -> None:
        next(line for line in lines if "runs_ns" in line).update(fields)

    return change


def of_host(**fields: Any) -> Callable[[list[Line]], None]:
    return lambda lines: lines[0].update(fields)


def of_device(**fields: Any) -> Callable[[list[Line]], None]:
    return lambda lines: lines[0]["device"].update(fields)


REFUSED: dict[str, Callable[[list[Line]], object]] = {
    "is missing": of_host(device={}),
    "another program": of_host(program="0" * 64),
    "other inputs": of_host(inputs=["0" * 64, "1" * 64]),
    "at least 1": of_device(max_work_group=0),
    "bytes of memory": of_device(global_bytes=64),
    "expected a whole number": of_device(global_bytes=1e30),
    "text of at most": of_device(name="x" * 1000),
    "name: expected a line of text": of_device(name=" \n"),
    "its text was another": changed(text="0" * 64),
    "expected a variant of the run": changed(id="naive-00000000"),
    "the name of a variant": changed(id="../../etc/passwd"),
    "runs_ns": changed(runs_ns=[]),
    "expected a number from 1": changed(runs_ns=[-5.0]),
    "a list of at most 64": changed(runs_ns=[1e6] * 65),
    "expected 64 samples": changed(samples=[[0.0]]),
    "further off": changed(samples=[[0.5] * 64]),
    "expected 1 results": changed(exact=[]),
    "one of measured, failed": changed(status="perhaps"),
    "found it twice": lambda lines: lines.append(lines[-1]),
    "expected one device": lambda lines: lines.append(
        lines[0] | {"device": lines[0]["device"] | {"driver": "other"}}
    ),
    "a line of the device": lambda lines: lines.pop(0) and None,
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_a_bundle_cannot_have_given_is_refused(
    said: str, bundled: Path, brought_back: Path, tmp_path: Path
) -> None:
    lines = lines_of(brought_back)
    REFUSED[said](lines)
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UserError, match=said):
        absorb(bundled, tmp_path / "x.jsonl", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_run_is_bundled_with_the_options_that_it_has(
    bundled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", str(bundled), "--profile", "cpu"]) == 1
    assert "keeps the options" in capsys.readouterr().err
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["bundle", str(bundled), "--out", str(tmp_path)]) == 1
    assert "holds other files" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\n", b"[1]\n", b"{" * 5000 + b"\n", b"{}\n"])
def test_a_file_that_holds_no_results_is_refused(
    content: bytes, bundled: Path, tmp_path: Path
) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(UserError, match=r"x\.jsonl"):
        absorb(bundled, tmp_path / "x.jsonl", tmp_path / "new")


def test_a_last_line_without_an_end_is_read_and_one_that_was_cut_off_is_told(
    bundled: Path, brought_back: Path, tmp_path: Path
) -> None:
    text = brought_back.read_text().rstrip()
    (tmp_path / "x.jsonl").write_text(text)
    found = absorb(bundled, tmp_path / "x.jsonl", tmp_path / "whole")
    assert (found.measured, found.cut_off) == (2, False)
    (tmp_path / "x.jsonl").write_text(text[:-1])
    found = absorb(bundled, tmp_path / "x.jsonl", tmp_path / "cut")
    assert (found.measured, found.cut_off) == (1, True)
    assert "last line was cut off" in found.lines[-1]


def test_the_name_of_a_device_is_printed_in_one_line(
    bundled: Path, brought_back: Path, tmp_path: Path
) -> None:
    lines = lines_of(brought_back)
    of_device(name="x\x1b[31m\n1 variant")(lines)
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = absorb(bundled, tmp_path / "x.jsonl", tmp_path / "new").lines
    assert told[0].startswith("x\ufffd[31m\ufffd1 variant (")


def test_wrong_results_are_failures_of_their_variants(
    bundled: Path, brought_back: Path, tmp_path: Path
) -> None:
    for n, (change, said) in enumerate(
        (
            (changed(error=0.5), "is over"),
            (changed(error=None), "no number"),
            (changed(exact=["0" * 64]), "by its sha256"),
            (changed(whole_samples=[[None] * 64]), "samples of result 0"),
        )
    ):
        lines = lines_of(brought_back)
        change(lines)
        (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        found = absorb(bundled, tmp_path / "x.jsonl", tmp_path / f"new-{n}")
        (failed,) = (r.outcome for r in found.run.records if isinstance(r.outcome, Failed))
        assert failed.stage == "verify"
        assert said in failed.reason
        assert found.measured == 1


# ---- what both programs draw

PROBE = """
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum scalar { NAMES };
static const size_t bytes_of[] = { SIZES };
#include "sha256.c"
#include "drawn_inputs.c"
int main(void) {
  char digits[65];
  static unsigned char bytes[200];
  for (int i = 0; i < 200; ++i) bytes[i] = (unsigned char)(7 * i);
  for (int size = 0; size < 200; ++size) sha256(bytes, (size_t)size, digits), puts(digits);
  for (int s = 0; s < COUNT; ++s)
    for (int whole = 0; whole < 2; ++whole) {
      void *data = drawn_input(SEED, s, (enum scalar)s, 5000, whole);
      sha256(data, 5000 * bytes_of[s], digits), puts(digits), free(data);
    }
  for (int k = 0; k < 64; ++k) printf("%zu\\n", sampled_place(SEED, 1, k, 12345));
}
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="cc is not installed")
def test_inputs_hashes_and_places_are_the_same_in_c_and_python(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(8), "big")
    sizes = ", ".join(str(np.dtype(t).itemsize) for t in DTYPES.values())
    text = PROBE.replace("NAMES", ", ".join(DTYPES).upper()).replace("SIZES", sizes)
    text = text.replace("COUNT", str(len(DTYPES))).replace("SEED", f"{seed}u")
    (tmp_path / "probe.c").write_text(text)
    room = Path(__file__).resolve().parents[2] / "explore" / "bundle"
    strict = ["-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    made = ["cc", *strict, "-I", str(room), "-o", "probe", "probe.c", "-lm"]
    subprocess.run(made, cwd=tmp_path, check=True)
    said = subprocess.run([str(tmp_path / "probe")], check=True, capture_output=True, text=True)
    plain = bytes(7 * i % 256 for i in range(200))
    meant = [sha256(plain[:size]).hexdigest() for size in range(200)]
    for n, scalar in enumerate(DTYPES):
        for whole in (False, True):
            drawn = drawn_input(seed, n, scalar, 5000, whole)
            meant.append(sha256(drawn.tobytes()).hexdigest())
    meant += [str(place) for place in sampled_places(seed, 1, 12345)]
    assert said.stdout.split() == meant, seed


def test_reals_are_spread_over_minus_one_to_one_and_whole_numbers_are_small() -> None:
    for scalar in ("float", "half"):
        drawn = drawn_input(3, 0, scalar, 100_000, whole=False)
        assert -1 <= drawn.min() < -0.99 < 0.99 < drawn.max() < 1
        assert abs(float(drawn.astype(float).mean())) < 0.01
    assert {*drawn_input(3, 0, "float", 1000, whole=True)} == {*range(-3, 4)}
    assert {*drawn_input(3, 0, "uchar", 1000, whole=False)} == {*range(4)}


def test_a_bundle_holds_no_code_that_imports_ours(bundled: Path) -> None:
    for _, name in COPIED:
        text = (bundled / "bundle" / name).read_text()
        assert not any(f"from {p}" in text for p in ("explore", "codegen", "ir.", "constraints"))
