"""Tests of the distributions: a wheel and an sdist hold every module and data file of the packages,
and the examples; the wheel runs where nothing of the sources is."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import numpy
import pytest

pytest.importorskip("setuptools", minversion="77", reason="it builds the distributions")

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("ir", "rewrites", "constraints", "codegen", "explore")
BESIDE = ("pyproject.toml", "README.md", "LICENSE", "convlift.py")
BUILD = """
from setuptools import build_meta
build_meta.build_sdist("dist")
build_meta.build_wheel("dist")
"""


def files_in(folder: str) -> set[str]:
    """The paths, from the project's root, of the files in one of its folders, without those in
    `__pycache__`."""
    found = (file for file in (ROOT / folder).rglob("*") if file.is_file())
    paths = (str(file.relative_to(ROOT)) for file in found)
    return {path for path in paths if "__pycache__" not in path}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist, built from copies of the files here."""
    folder = tmp_path_factory.mktemp("distribution")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in (*PACKAGES, "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for file in BESIDE:
        shutil.copy(ROOT / file, folder)
    subprocess.run([sys.executable, "-c", BUILD], cwd=folder, check=True, capture_output=True)
    return folder / "dist"


def test_a_wheel_and_an_sdist_hold_all_modules_and_data_files(built: Path) -> None:
    needed = {"convlift.py"}.union(*map(files_in, PACKAGES))
    examples = {e for e in files_in("examples") if not e.endswith(".py")}
    (wheel,) = built.glob("*.whl")
    (sdist,) = built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as opened:
        held = set(opened.namelist())
    assert needed <= held
    assert {
        e for e in examples if not any(h.endswith(f"share/convlift/{e}") for h in held)
    } == set()
    assert {h.split("/")[0] for h in held if ".data" not in h and ".dist-info" not in h} == {
        "convlift.py",
        *PACKAGES,
    }
    with tarfile.open(sdist) as archive:
        kept = {name.partition("/")[2] for name in archive.getnames()}
    assert needed | examples | set(BESIDE) <= kept


def test_the_wheel_runs_in_an_environment_of_its_own(built: Path, tmp_path: Path) -> None:
    """The wheel is installed into a new environment, which sees the packages that convlift needs
    where they are installed here, but not convlift as it is installed here."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "env", symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    (site / "beside.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run(
        [*pip, "--no-index", "--no-deps", "--ignore-installed", str(wheel)],
        check=True,
        capture_output=True,
    )
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def said(*words: str) -> str:
        ran = subprocess.run(
            [str(python.parent / "explore"), *words],
            cwd=tmp_path,
            env=outside,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert "quickstart" in said("init")
    few = ("--families", "naive", "--variants", "2", "--jobs", "1")
    (line, *_) = said("dot", "--profile", "cpu", *few, "--json").splitlines()
    assert json.loads(line)["status"] == "predicted"
    where = [str(python), "-c", "import explore; print(explore.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=outside, capture_output=True, text=True).stdout
    assert Path(found.strip()).is_relative_to(site)
