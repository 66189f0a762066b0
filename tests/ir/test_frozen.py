"""Tests that frozen data cannot be changed, and is pickled without the values that were computed
from it and kept."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ir.core.frozen
from codegen.index.atoms import Var as Atom
from codegen.index.index import var
from codegen.tree.kernel_values import Number
from ir.core.nodes import Var
from ir.core.types import FLOAT
from ir.parse import parse

FROZEN = Path(ir.core.frozen.__file__)
OPTIONS = ("--config-file", "", "--cache-dir", os.devnull, "--follow-imports", "skip")


def test_the_type_checker_refuses_a_change(tmp_path: Path) -> None:
    mypy = pytest.importorskip("mypy.api", reason="mypy is not installed")
    text = "\n".join(
        f"from ir.core.frozen import {how}\n@{how}\nclass {how.title()}:\n    x: int\n"
        f"{how}_ = {how.title()}(1)\nprint({how}_.x)\n{how}_.x = 2"
        for how in ("frozen", "distinct")
    )
    file = tmp_path / "changed.py"
    file.write_text(text)
    told, _, _ = mypy.run([*OPTIONS, str(FROZEN), str(file)])
    assert re.findall(r'Property "x" defined in "(\w+)" is read-only', told) == [
        "Frozen",
        "Distinct",
    ]
    assert "Found 2 errors" in told


def test_equal_fields_make_equal_data_with_one_hash() -> None:
    assert Var("x", FLOAT) == Var("x", FLOAT) != Var("y", FLOAT)
    assert hash(Var("x", FLOAT)) == hash(Var("x", FLOAT))
    assert Number(1.0, "float") == Number(1.0, "float") != Number(1.0, "half")


def test_what_is_distinct_equals_itself_only() -> None:
    one, other = (Atom("i", 0, 1, frozenset("i")) for _ in range(2))
    assert one == one != other
    assert var("i", 0, 3) == var("i", 0, 3)


def test_a_hash_is_not_pickled() -> None:
    """A term that is unpickled in a process with another hash seed has the hash of an equal term
    built there."""
    program = parse("p(xs : [float]4) = mapSeq(x -> x + 1.0, xs)")
    known = {program.body: "body"}
    code = (
        "import pickle, sys; known, e = pickle.load(sys.stdin.buffer); "
        "assert known[e] == 'body' and hash(e) == hash(eval('lambda e: type(e)(*[getattr(e, n) "
        "for n in type(e).__match_args__])')(e))"
    )
    seed = {**os.environ, "PYTHONHASHSEED": "1"}
    sent = pickle.dumps((known, program.body))
    subprocess.run([sys.executable, "-c", code], input=sent, env=seed, check=True)


def test_an_index_comes_back_from_a_pickle() -> None:
    index = var("i", 0, 7) // 2 * 3 + 1
    again = pickle.loads(pickle.dumps(index))
    assert again == index
    assert (again.lo, again.hi) == (index.lo, index.hi)
