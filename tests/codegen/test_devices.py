"""Tests of the search for devices: which are found, which is chosen, and the messages about those
that do not work."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from codegen import doctor
from codegen.instruction_trial import instructions_of
from codegen.products_trial import try_products
from codegen.runtime import devices as finding
from codegen.runtime import platforms
from codegen.runtime.devices import Broken, Device, choose, takes_vpdpbusd
from codegen.runtime.results import Tried
from codegen.runtime.session import Session
from ir.errors import UserError

ROOT = Path(__file__).resolve().parents[2]

# Products of bytes by an instruction


def test_products_of_bytes_by_their_instruction_come_out_right(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    if not session.device.vpdpbusd:
        pytest.skip("this device's compiler does not take the instruction's name")
    try_products(session.device.library)
    assert json.loads(capsys.readouterr().out) == {"products": True}


def test_a_trial_of_the_instruction_that_fails_is_no_failure_of_the_device(
    device: Device, tmp_path: Path
) -> None:
    assert takes_vpdpbusd(device) == device.vpdpbusd
    assert not takes_vpdpbusd(replace(device, library=str(tmp_path / "libnone.so")))
    assert not takes_vpdpbusd(GPU)


# Choosing

CPU = Device(
    0, "Some CPU", "Intel(R) OpenCL", "OpenCL 3.0", "1", "cpu", 2, 64, (64,), 1, False, 1, 1,
    False, False, "", 0,
)  # fmt: skip
GPU = replace(CPU, index=1, name="H200", platform="NVIDIA CUDA", kind="gpu")
SIMULATOR = replace(CPU, index=2, name="Oclgrind Simulator", kind="other", simulator=True)
BAD = Broken("libintelocl.so", "every device", "libimf.so: not found", "pip install that")


def test_the_default_is_a_gpu_then_a_cpu_then_what_there_is() -> None:
    assert choose(None, [SIMULATOR, CPU, GPU]) == GPU
    assert choose(None, [SIMULATOR, BAD, CPU]) == CPU
    assert choose(None, [SIMULATOR]) == SIMULATOR


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("1", GPU), ("gpu", GPU), ("CPU", CPU), ("h2", GPU), ("intel", CPU), ("oclgrind", SIMULATOR)],
)
def test_a_device_is_meant_by_number_name_or_kind(spec: str, expected: Device) -> None:
    assert choose(spec, [CPU, GPU, SIMULATOR]) == expected


@pytest.mark.parametrize("spec", ["7", "mali", "gpu", ""])
def test_a_device_that_is_not_here_lists_those_that_are(spec: str) -> None:
    with pytest.raises(UserError, match=rf"no device `{spec}`.*(?s:.*)0  Some CPU"):
        choose(spec, [CPU, SIMULATOR])


def test_no_device_says_what_to_install() -> None:
    with pytest.raises(UserError, match="pip install intel-opencl-rt"):
        choose(None, [])
    with pytest.raises(UserError, match=r"libimf\.so: not found; pip install that"):
        choose("cpu", [BAD])


# Finding


def test_every_device_found_is_named_and_numbered(sessions: tuple[Session, ...]) -> None:
    assert [session.device.index for session in sessions] == list(range(len(sessions)))
    for session in sessions:
        assert session.device.name
        assert session.device.global_bytes > 0


def test_the_users_own_vendors_are_taken(tmp_path: Path) -> None:
    (tmp_path / "mine.icd").write_text("libmine.so\n")
    for place in (tmp_path, tmp_path / "mine.icd"):
        assert "libmine.so" in platforms.libraries({"OCL_ICD_VENDORS": str(place)})
    asked = {"OCL_ICD_VENDORS": "mine.icd", "OPENCL_VENDOR_PATH": str(tmp_path)}
    assert "libmine.so" in platforms.libraries(asked)
    assert "libmine.so" in platforms.libraries({"OPENCL_VENDOR_PATH": str(tmp_path)})


def test_nvidias_library_without_its_file_is_found(tmp_path: Path) -> None:
    library = tmp_path / "libnvidia-opencl.so.1"
    library.touch()
    asked = {"OCL_ICD_VENDORS": str(tmp_path), "LD_LIBRARY_PATH": f":{tmp_path}"}
    assert str(library) in platforms.libraries(asked)
    (tmp_path / "nvidia.icd").write_text("libnvidia-opencl.so.1")
    found = platforms.libraries(asked)
    assert [name for name in found if "nvidia" in name] == ["libnvidia-opencl.so.1"]


def test_the_users_environment_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for before in (None, "/somewhere"):
        monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
        if before:
            monkeypatch.setenv("OCL_ICD_VENDORS", before)
        with platforms.registered(["liba.so", "libb.so"], tmp_path):
            folder = Path(os.environ["OCL_ICD_VENDORS"])
            assert {file.read_text() for file in folder.iterdir()} == {"liba.so\n", "libb.so\n"}
        assert os.environ.get("OCL_ICD_VENDORS") == before
    assert list(tmp_path.iterdir()) == [folder]


def test_the_folder_shown_to_the_loader_is_made_once_and_mended(tmp_path: Path) -> None:
    for _ in range(2):
        with platforms.registered(["liba.so"], tmp_path):
            (file,) = Path(os.environ["OCL_ICD_VENDORS"]).iterdir()
            assert file.read_text() == "liba.so\n"
        file.write_text("")
    with platforms.registered(["libb.so"], tmp_path):
        assert Path(os.environ["OCL_ICD_VENDORS"]) != file.parent


def test_without_a_place_to_keep_it_the_folder_is_gone_afterwards(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with platforms.registered(["liba.so"], tmp_path / "file"):
        folder = Path(os.environ["OCL_ICD_VENDORS"])
        assert [file.read_text() for file in folder.iterdir()] == ["liba.so\n"]
    assert not folder.exists()


def test_a_process_killed_while_the_loader_looks_leaves_no_folder_behind(tmp_path: Path) -> None:
    passing = tmp_path / "passing"
    passing.mkdir()
    code = (
        "import os, signal; from pathlib import Path; from codegen.runtime import platforms\n"
        f"with platforms.registered(['liba.so'], Path({str(tmp_path / 'kept')!r})):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "TMPDIR": str(passing)}
    for _ in range(2):
        ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment)
        assert ended.returncode == -signal.SIGKILL
    assert not list(passing.iterdir())
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_a_library_that_does_not_load_is_broken_with_its_reason(tmp_path: Path) -> None:
    library = tmp_path / "libnot.so"
    library.write_text("no library")
    (entry,) = finding.try_library(str(library))
    assert isinstance(entry, Broken)
    assert "libnot.so" in entry.platform
    assert entry.reason
    assert entry.advice


def compiled(folder: Path, constructor: str) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to make a broken driver with")
    source, library = folder / "driver.c", folder / "libdriver.so"
    source.write_text(
        "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        f"__attribute__((constructor)) static void start(void) {{ {constructor} }}\n"
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return str(library)


def test_a_driver_that_crashes_is_a_line_in_the_list(tmp_path: Path) -> None:
    (entry,) = finding.try_library(compiled(tmp_path, "abort();"))
    assert isinstance(entry, Broken)
    assert "crashed" in entry.reason
    assert "(SIGABRT)" in entry.reason


@pytest.mark.parametrize(
    "end",
    ["kill(getpid(), SIGKILL);", 'fputs("std::bad_alloc\\n", stderr); abort();'],
)
def test_a_trial_that_memory_ran_out_for_is_no_driver_that_crashed(
    tmp_path: Path, end: str
) -> None:
    (entry,) = finding.try_library(compiled(tmp_path, end))
    assert isinstance(entry, Broken)
    assert "memory runs out" in entry.reason
    assert "crashed" not in entry.reason
    assert entry.advice == "free some memory, then try again"


def test_a_driver_that_hangs_is_a_line_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = compiled(tmp_path, "sleep(600);")
    monkeypatch.setattr(finding, "TRIAL_SECONDS", 3.0)
    (entry,) = finding.try_library(library)
    assert isinstance(entry, Broken)
    assert "no answer within 3 s" in entry.reason


def test_the_listing_is_a_table_or_json() -> None:
    table = doctor.report(
        [CPU, GPU, BAD], {GPU.index: [Tried("mma_tf32", emulated=False)]}, width=100
    )
    assert "H200" in table
    assert "reason: libimf.so: not found" in table
    assert f"{GPU.index}: instructions, by trial: mma_tf32\n" in table
    assert f"{CPU.index}: instructions, by trial: none of the table" in table
    emulated = {CPU.index: [Tried("mma_tf32", emulated=True)]}
    lines = [json.loads(line) for line in doctor.as_lines([CPU, BAD], emulated).splitlines()]
    assert [line["works"] for line in lines] == [True, False]
    assert lines[0]["instructions"] == [{"name": "mma_tf32", "emulated": True}]
    assert "pip install" in doctor.report([], {})
    assert doctor.as_lines([], {}) == ""


def test_without_a_device_there_is_no_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "devices", lambda fresh: [])
    assert doctor.main(["--json"], instructions_of) == 1
    assert capsys.readouterr().out == ""


def test_devices_says_whether_one_works(device: Device) -> None:
    with redirect_stdout(io.StringIO()) as out:
        assert doctor.main(["--json"], lambda device, emulated: ()) == 0
    assert any(json.loads(line)["name"] == device.name for line in out.getvalue().splitlines())
