"""Tests of the import contracts between packages (rooms): they hold, and a forbidden import that is
planted breaks them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("importlinter", reason="import-linter is not installed: pip install '.[dev]'")

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("ir", "rewrites", "constraints", "codegen", "explore")
LINT = "from importlinter.cli import lint_imports_command as main; main()"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the packages and of their import contracts, in a folder of its own."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


def broken(house: Path) -> set[str]:
    """The names of the import contracts that the packages in the folder `house` break, each up to
    its first colon."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", LINT, "--no-cache"],
        cwd=house,
        env=os.environ | {"PYTHONPATH": str(house), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    found = {line.split(" BROKEN")[0] for line in done.stdout.splitlines() if "BROKEN" in line}
    assert bool(found) == bool(done.returncode), done.stdout + done.stderr
    return found


def plant(house: Path, file: str, line: str) -> None:
    """Add `line`, an import, to the end of a file of the folder `house`."""
    path = house / file
    path.write_text((path.read_text() if path.exists() else "") + line + "\n")


def test_a_room_holds_three_to_fifteen_files() -> None:
    rooms = {
        folder for p in PACKAGES for folder in (ROOT / p).rglob("*/") if [*folder.glob("*.py")]
    }
    sizes = {str(room.relative_to(ROOT)): len({*room.glob("*.py")}) - 1 for room in rooms}
    assert {room: n for room, n in sizes.items() if not 3 <= n <= 15} == {}


def test_the_contract_holds(house: Path) -> None:
    assert broken(house) == set()


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("rewrites/number_laws/units.py", "from codegen import plan", "Packages"),
        ("constraints/__main__.py", "from explore.run import target", "Packages"),
        ("ir/core/size.py", "def late():\n    from ir import parse", "Rooms of ir"),
        ("ir/news.py", "from ir.core import size", "Rooms of ir"),
        ("rewrites/nest/spine.py", "from rewrites.kernels import naive", "Rooms of rewrites"),
        ("constraints/devices.py", "from constraints import report", "Rooms of constraints"),
        ("codegen/index/index.py", "from codegen.tree import statements", "Rooms of codegen"),
        ("explore/run_store/store.py", "from explore.run import run", "Rooms of explore"),
        (
            "ir/elaborate/recursion.py",
            "import typing\nif typing.TYPE_CHECKING:\n    from ir.elaborate import elaborator",
            "No circles",
        ),
        ("explore/api.py", "import pyopencl", "One module opens devices"),
    ],
)
def test_a_forbidden_import_breaks_it(house: Path, file: str, line: str, contract: str) -> None:
    plant(house, file, line)
    assert contract in broken(house)
