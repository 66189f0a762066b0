"""Tests that the paths, modules, names and links in README, CONTRIBUTING and docs exist."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PACKAGES = ("ir", "rewrites", "constraints", "codegen", "explore", "benchmarks", "tests")
FOLDERS = (*PACKAGES, "examples", "docs", ".ci", ".github")
PAGES = sorted([*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md")])

PATH = re.compile(rf"(?<![\w./-])(?<!\]\()(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*[\w/*]")
PLAIN = re.compile(r"`([\w-]+\.py)`")
MODULE = re.compile(r"python -m ([\w.]+)")
DOTTED = re.compile(r"`(\w+(?:\.\w+)*)\.([A-Za-z_]\w*)`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
EXPORTED = {
    "host.py",
    "build_options.py",
    "bundle.py",
    "drawn_inputs.py",
}  # files of an export, which no folder here holds
FILES = {"sqlite", "npz", "npy", "html", "json", "lift", "cl", "c", "md", "toml", "txt", "yml"}


def page(path: Path) -> str:
    return str(path.relative_to(TOP))


@pytest.fixture(params=PAGES, ids=page)
def text(request: pytest.FixtureRequest) -> str:
    found: str = request.param.read_text(encoding="utf-8")
    return found


def test_every_path_that_is_named_exists(text: str) -> None:
    named = sorted({found.rstrip("/.") for found in PATH.findall(text)})
    assert [path for path in named if not list(TOP.glob(path))] == []


def test_every_module_is_named_with_its_folders(text: str) -> None:
    assert sorted(set(PLAIN.findall(text)) - EXPORTED) == []


def test_every_module_that_is_run_exists(text: str) -> None:
    assert [name for name in set(MODULE.findall(text)) if not runs(name)] == []


def test_every_name_after_a_dot_is_defined_there(text: str) -> None:
    owned = [(owner, name) for owner, name in DOTTED.findall(text) if name not in FILES]
    assert sorted({f"{o}.{n}" for o, n in owned if not is_defined(o, n)}) == []


@pytest.mark.parametrize("path", [*sorted(TOP.glob("*.md")), TOP / "docs" / "README.md"], ids=page)
def test_every_link_outside_of_the_site_leads_to_a_file(path: Path) -> None:
    """Each link of a page in the top folder, and of the page that tells where to begin in docs,
    leads to a file; `mkdocs build --strict` checks the links of the other pages in docs."""
    links = set(LINK.findall(path.read_text(encoding="utf-8")))
    assert sorted(link for link in links if not (path.parent / link).exists()) == []


def test_a_module_that_is_gone_is_noticed() -> None:
    assert not runs("rewrites.wherever")
    assert is_defined("rewrites.nest.dimensions", "classify")
    assert not is_defined("rewrites.nest.dimensions", "gone")
    assert not is_defined("rewrites.gone", "classify")
    assert PATH.findall("(`rewrites/nest/gone.py`)") == ["rewrites/nest/gone.py"]


def runs(module: str) -> bool:
    """True if `python -m` finds a module; modules that are not ours (pytest, pip) are taken to
    exist."""
    first, *_ = parts = module.split(".")
    place = TOP.joinpath(*parts)
    return first not in PACKAGES or place.with_suffix(".py").exists() or place.is_dir()


def is_defined(owner: str, name: str) -> bool:
    """True if a module or class of ours, `owner`, defines a name; names in modules that are not
    ours are taken to exist."""
    if owner.split(".")[0] in PACKAGES and owner not in defined():
        return (TOP.joinpath(*owner.split(".")) / name).with_suffix(".py").exists()
    return owner not in defined() or name in defined()[owner]


@cache
def defined() -> dict[str, set[str]]:
    """The names defined in each class, and in each module by its path with dots."""
    names: dict[str, set[str]] = {}
    for package in PACKAGES:
        for file in (TOP / package).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            inside = file.relative_to(TOP).with_suffix("").parts
            names[".".join(inside)] = set(_assigned(tree.body))
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    names.setdefault(node.name, set()).update(_assigned(node.body))
    return names


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                yield from (alias.asname or alias.name for alias in imported)
