"""The files that are not Python and lie beside the modules of this package."""

from importlib.resources import files


def shipped_text(package: str, name: str) -> str:
    """The text of the file of that name in a package, such as `explore.export`."""
    return files(package).joinpath(name).read_text(encoding="utf-8")
