"""The session of this process on a device, opened once."""

from functools import lru_cache

from codegen.runtime.devices import choose
from codegen.runtime.session import Session, open_device


@lru_cache(maxsize=1)
def opened(device: str | None) -> Session:
    """The session of this process on the named device (None: the best one)."""
    return open_device(choose(device))
