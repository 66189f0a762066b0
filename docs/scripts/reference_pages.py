"""A hook of MkDocs: adds one reference page for each room, and the pages kept at the top.

Rooms are read from the folders, so a new room has its page without a word here. CONTRIBUTING.md
and CHANGELOG.md lie where people look for them, and are pages of the site too.
"""

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

TOP = Path(__file__).parents[2]
PACKAGES = ("ir", "rewrites", "constraints", "codegen", "explore")
AT_TOP = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The configuration, with the section of reference pages at the end of its nav."""
    config.nav = [*(config.nav or []), {"Reference": [_section(p) for p in PACKAGES]}]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The site's files, with a page for each package, for each room, and for those at the top."""
    for package in PACKAGES:
        for folder in (TOP / package, *rooms(package)):
            files.append(File.generated(config, page_of(folder), content=reference(folder)))
    for page, name in AT_TOP.items():
        files.append(File.generated(config, page, content=from_top(name)))
    return files


def from_top(name: str) -> str:
    """The text of a file at the top, its links as they are from the site's first page."""
    text = (TOP / name).read_text(encoding="utf-8").replace("](docs/", "](")
    for page, other in AT_TOP.items():
        text = text.replace(f"]({other})", f"]({page})")
    return text


def rooms(package: str) -> list[Path]:
    """The folders inside a package, at any depth, that are packages themselves, by name."""
    return sorted(found.parent for found in (TOP / package).glob("*/**/__init__.py"))


def page_of(folder: Path) -> str:
    """The path of a room's page in the site; a package's page is the index of its section."""
    inside = folder.relative_to(TOP)
    return f"reference/{inside}/index.md" if folder.parent == TOP else f"reference/{inside}.md"


def reference(folder: Path) -> str:
    """The text of a room's page: what the room holds, then each of its modules."""
    name = ".".join(folder.relative_to(TOP).parts)
    modules = sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("__"))
    about = f"::: {name}\n    options:\n      members: false\n      show_root_heading: false\n"
    return "\n".join([f"# {name}\n", about, *(f"::: {name}.{module}\n" for module in modules)])


def _section(package: str) -> dict[str, Any]:
    folders = [TOP / package, *rooms(package)]
    return {package: [{folder.name: page_of(folder)} for folder in folders]}
