"""Tests of the distributions: a wheel and an sdist hold every module and data file of the packages,
and the examples."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

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


def test_a_wheel_and_an_sdist_hold_all_modules_and_data_files(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in (*PACKAGES, "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for file in BESIDE:
        shutil.copy(ROOT / file, tmp_path)
    subprocess.run([sys.executable, "-c", BUILD], cwd=tmp_path, check=True, capture_output=True)
    needed = {"convlift.py"}.union(*map(files_in, PACKAGES))
    examples = {e for e in files_in("examples") if not e.endswith(".py")}
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
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
