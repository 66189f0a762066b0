"""Tests that a run's files stay in its folder: links out of it are refused, and so are names that
lead out of it."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from explore.files.folder_lock import Lock
from explore.files.own_folder import OwnFolder
from ir.errors import UserError


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file with the text `precious` that is not in the run's folder."""
    file = tmp_path / "outside" / "precious.cl"
    file.parent.mkdir()
    file.write_text("precious")
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    made.mkdir()
    return made


def test_a_file_is_written_whole_and_takes_the_place_of_a_link(folder: Path, outside: Path) -> None:
    (folder / "a.cl").symlink_to(outside)
    (folder / ".part-a.cl").symlink_to(outside)
    with OwnFolder.opened(folder) as own:
        own.write("a.cl", "new")
        assert own.names() == ["a.cl"]
    assert (folder / "a.cl").read_text() == "new"
    assert not (folder / "a.cl").is_symlink()
    assert outside.read_text() == "precious"


def test_a_file_that_is_given_up_leaves_the_old_one(folder: Path) -> None:
    with OwnFolder.opened(folder) as own:
        own.write("a", "old")
        with suppress(KeyError), own.making("a") as fd:
            os.write(fd, b"half")
            raise KeyError
        assert own.names() == ["a"]
    assert (folder / "a").read_text() == "old"


def test_a_folder_in_it_that_is_a_link_is_refused(folder: Path, outside: Path) -> None:
    (folder / "front").symlink_to(outside.parent)
    with (
        OwnFolder.opened(folder) as own,
        pytest.raises(UserError, match=r"cannot write .*front: "),
        own.inner("front") as front,
    ):
        front.remove(outside.name)
    assert outside.read_text() == "precious"


@pytest.mark.parametrize("name", ["../evil", "a/b", "..", "", "a\0", "/etc/passwd", "-rf", "a\n"])
def test_a_name_that_is_not_plain_is_refused(folder: Path, name: str) -> None:
    with OwnFolder.opened(folder) as own:
        for use in (own.remove, own.is_file, lambda n: own.write(n, "evil")):
            with pytest.raises(UserError, match="expected the name of a file in"):
                use(name)
    assert not list(folder.iterdir())


def test_a_lock_that_is_a_link_is_refused_and_its_file_left_alone(
    folder: Path, outside: Path
) -> None:
    (folder / "lock").symlink_to(outside)
    with pytest.raises(UserError, match=r"lock: it is a link that leads elsewhere"):
        Lock(folder)
    assert outside.read_text() == "precious"


def test_a_lock_that_is_a_hard_link_is_refused_and_its_file_left_alone(
    folder: Path, outside: Path
) -> None:
    """A lock that is a hard link to a file outside is refused, and no process number is written to
    that file."""
    (folder / "lock").hardlink_to(outside)
    with pytest.raises(UserError, match=r"lock is a hard link: a file elsewhere is the same one"):
        Lock(folder)
    assert outside.read_text() == "precious"


def test_a_lock_that_is_no_file_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "lock")
    with pytest.raises(UserError, match="lock is a link or no file"):
        Lock(folder)


def test_a_file_takes_the_place_of_a_hard_link(folder: Path, outside: Path) -> None:
    (folder / "a.cl").hardlink_to(outside)
    (folder / ".part-a.cl").hardlink_to(outside)
    with OwnFolder.opened(folder) as own:
        own.write("a.cl", "new")
    assert (folder / "a.cl").read_text() == "new"
    assert outside.read_text() == "precious"
