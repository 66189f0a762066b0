"""Tests of the programs in `tests/found`, with which something went wrong once: each gives right
results, or is refused with a message."""

from pathlib import Path

import pytest

from codegen.runtime.session import Session
from tests.fuzz.found import FOLDER, read
from tests.fuzz.judge import try_program
from tests.fuzz.ways import Way

FILES = sorted(FOLDER.glob("*.lift"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_was_found_once_is_not_found_again(sessions: tuple[Session, ...], file: Path) -> None:
    found = read(file)
    anywhere = Way(found.way.family, found.way.form, found.way.target)
    verdicts = list(try_program(sessions, found.program, [found.way, anywhere], found.seed))
    assert verdicts
    assert [v for v in verdicts if not v.fine] == []
