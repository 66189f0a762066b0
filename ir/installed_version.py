"""The version of convlift, as it was installed."""


def installed_version() -> str:
    """The version's number, such as `0.1.0`; `0` where convlift is not installed."""
    import importlib.metadata  # a fifth of what a short command takes to start

    try:
        return importlib.metadata.version("convlift")
    except importlib.metadata.PackageNotFoundError:
        return "0"
