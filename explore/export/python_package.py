"""A variant as a package in Python, which pip installs: its kernels, its plan, and the class that
builds and runs them."""

import re
from collections.abc import Mapping, Sequence

from codegen.plan import Plan, Role
from explore.files.shipped_text import shipped_text

RUNTIME = (
    ("codegen.runtime", "platforms.py"),
    ("codegen.binaries", "build_options.py"),
    ("codegen.runtime", "large_pages.py"),
)
PROJECT = """[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "@NAME@"
version = "0"
dependencies = ["numpy", "pyopencl"]

[tool.setuptools]
packages = ["@NAME@"]

[tool.setuptools.package-data]
"@NAME@" = ["kernels.cl", "plan.json"]
"""


def python_package(
    name: str, plan: Plan, *, title: str, said: str, kernels: str
) -> Mapping[str, str]:
    """The files of the package `name` that runs a plan, by their paths; `title` stands in its
    texts, `said` is the text of its `plan.json`, `kernels` that of its kernels."""
    values = {
        "NAME": name,
        "TITLE": " ".join(title.split()).replace("\\", "/").replace('"', "'"),
        "SHOWN_CONSTANTS": _arguments(plan, Role.CONST),
        "SHOWN_INPUTS": _arguments(plan, Role.INPUT),
    }
    module = shipped_text("explore.export", "package.py.in")
    runtime = {file: shipped_text(room, file) for room, file in RUNTIME}
    return {
        "pyproject.toml": _filled(PROJECT, values),
        f"{name}/__init__.py": _filled(module, values),
        **{f"{name}/{file}": text for file, text in runtime.items()},
        f"{name}/kernels.cl": kernels,
        f"{name}/plan.json": said,
    }


def _arguments(plan: Plan, role: Role) -> str:
    names: Sequence[str] = [b.name for b in plan.buffers if b.role is role]
    return ", ".join(names)


def _filled(text: str, values: Mapping[str, str]) -> str:
    """The template with each @WORD@ replaced by its value; a @WORD@ inside a value is kept."""
    return re.sub(r"@([A-Z_]+)@", lambda hole: values[hole[1]], text)
