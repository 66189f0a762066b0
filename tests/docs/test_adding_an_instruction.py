"""Test that the file on the page about adding an instruction, put into the folder of entries, is an
instruction: of the table, of the language, of devices, and of the family `matrix`."""

import re
from pathlib import Path

import pytest

from codegen import instruction_trial
from codegen.runtime.session import Session
from ir import parse
from ir.instructions import entries, table
from ir.instructions.entry import Entry
from rewrites.families.all_families import form_named
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix import agrees
from tests.support.assembled import assembles

PAGE = Path(__file__).parents[2] / "docs" / "adding_an_instruction.md"
PRODUCT = """
product(a : [[char]16]8, b : [[char]16]8) =
  map(r -> map(s -> reduce(0, (acc, (x, y)) -> acc + x * y, zip(r, s)), b), a)
"""


def test_the_file_of_the_page_alone_adds_an_instruction(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = re.search(r"^```python\n# (\w+)\.py\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert found is not None
    name, text = found.groups()
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(entries, "__path__", [*entries.__path__, str(tmp_path)])
    listed = {entry.name: entry for entry in table.listed()}
    (entry,) = (listed[added] for added in listed.keys() - table.TABLE.keys())
    assert entry.name == name
    assert assembles([entry])
    assert isinstance(entry, Entry)
    for held in (table.TABLE, table.CALLED, table.MATRIX):
        monkeypatch.setitem(held, name, entry)
    p = parse(PRODUCT)
    agrees(session, p, lower(p, form_named(p, "matrix", name.replace("_", "-"))), seed=1)
    monkeypatch.setattr(instruction_trial, "TABLE", {name: entry})
    assert [tried.name for tried in instruction_trial.instructions_of(session.device)] == [name]
