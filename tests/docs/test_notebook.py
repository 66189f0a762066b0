"""Tests that the notebook of the documentation works: its cells run in order, and those that end in
a value show it."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from codegen.runtime.devices import Device

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def value_of(cell: str, known: dict[str, Any]) -> Any:
    """The value that a notebook shows below a cell: that of its last line if this is an expression,
    else None. `known` are the variables of the cells before, which the cell may change."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), known)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), known)


def test_the_cells_of_the_notebook_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: Device
) -> None:
    monkeypatch.chdir(tmp_path)  # where its run is put
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    known: dict[str, Any] = {}
    shown = [value for cell in code if (value := value_of(cell, known)) is not None]
    program, shape, there, run, best = shown
    assert program.name == "conv"
    assert shape == (7, 9, 8)
    assert "float32 [7, 9, 8]" in repr(there)
    assert "<svg" in run._repr_html_()
    assert best[0].startswith("registers-")
    assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code")
