"""The folder of this user's cached files."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder of this user's cached files: in XDG_CACHE_HOME, else in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache")) / "convlift"
