"""The version of convlift, as it was installed."""

import importlib.metadata


def installed_version() -> str:
    """The version's number, such as `0.1.0`; `0` where convlift is not installed."""
    try:
        return importlib.metadata.version("convlift")
    except importlib.metadata.PackageNotFoundError:
        return "0"
