"""The runs of a program on several devices, in one folder: their fronts printed side by side, or
written as a page."""

from collections.abc import Iterator
from pathlib import Path

from explore.report.side_by_side import Side, side_lines, write_sides
from explore.run_store.guarded_database import FILE
from explore.run_store.store import Store

REPORT = "report.html"


def runs_in(folder: Path) -> list[Path]:
    """The folders of the runs in the sub-folders of a folder; none if the folder itself is a
    run's, or if the runs are of several programs."""
    if (folder / FILE).exists() or not folder.is_dir():
        return []
    found = [inner for inner in sorted(folder.iterdir()) if (inner / FILE).is_file()]
    return found if len({_program(inner) for inner in found}) == 1 else []


def _program(run: Path) -> str:
    """The text of a run's program."""
    with Store.read(run) as store:
        return store.environment.program


def told_side_by_side(folder: Path) -> None:
    """Print the fronts of the runs in a folder's sub-folders side by side, and write the page on
    them; do nothing if there are no such runs."""
    if runs_in(folder):
        print("\n".join(lines_beside(folder)))
        print(f"report: {write_beside(folder, folder / REPORT)}")


def lines_beside(folder: Path) -> Iterator[str]:
    """Lines on the runs in the sub-folders of a folder: their fronts, side by side."""
    return side_lines([side for _, side in _sides(folder)])


def write_beside(folder: Path, file: Path) -> Path:
    """Write the page on the runs in the sub-folders of a folder to a file; returns the file."""
    found = list(_sides(folder))
    write_sides(file, found[0][0], [side for _, side in found])
    return file


def _sides(folder: Path) -> Iterator[tuple[str, Side]]:
    """The runs in the sub-folders of a folder: for each, the name of its program, and its side of
    the comparison."""
    for inner in runs_in(folder):
        with Store.read(inner) as store:
            known, records = store.environment, store.records()
        yield known.name, Side(known.where, inner.name, tuple(records))
