"""Tests that every command reads a program file that begins with a byte order mark."""

import subprocess
import sys
from pathlib import Path

import pytest

DOUBLED = "doubled(xs : [float]8) = map(x -> x + x, xs)\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["ir"], "doubled : [float]8"),
        (["rewrites", "--family", "naive"], "doubled by naive"),
        (["constraints"], "1 valid point"),
        (["codegen"], "__kernel void doubled_("),
        (["explore", "--set", "N=4"], "the program has no size `N`"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_byte_order_mark_is_no_part_of_a_program(
    command: list[str], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "doubled.lift"
    file.write_text(DOUBLED, encoding="utf-8-sig")
    package, *options = command
    done = subprocess.run(
        [sys.executable, "-m", package, str(file), *options], capture_output=True, text=True
    )
    assert said in done.stdout + done.stderr
    assert "ufeff" not in done.stderr
