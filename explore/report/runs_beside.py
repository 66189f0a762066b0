"""The runs of a program on several devices in one folder, told side by side."""

from collections.abc import Iterator
from pathlib import Path

from explore.report.side_by_side import Side, side_lines, write_sides
from explore.results.guarded_database import FILE
from explore.results.store import Store

REPORT = "report.html"


def runs_in(folder: Path) -> list[Path]:
    """The folders of the runs below one, if it has no run of its own."""
    if (folder / FILE).exists() or not folder.is_dir():
        return []
    return [inner for inner in sorted(folder.iterdir()) if (inner / FILE).is_file()]


def told_side_by_side(folder: Path) -> None:
    """Print the fronts of the runs below a folder side by side, and write the page of them, if
    there are any."""
    if runs_in(folder):
        print("\n".join(lines_beside(folder)))
        print(f"report: {write_beside(folder, folder / REPORT)}")


def lines_beside(folder: Path) -> Iterator[str]:
    """Lines on the fronts of the runs below a folder."""
    return side_lines([side for _, side in _sides(folder)])


def write_beside(folder: Path, file: Path) -> Path:
    """Write the page of the runs below a folder to a file, which is the result."""
    found = list(_sides(folder))
    write_sides(file, found[0][0], [side for _, side in found])
    return file


def _sides(folder: Path) -> Iterator[tuple[str, Side]]:
    """The name of the program of each run below a folder, and its side."""
    for inner in runs_in(folder):
        with Store.read(inner) as store:
            known, records = store.environment, store.records()
        yield known.name, Side(known.where, inner.name, tuple(records))
