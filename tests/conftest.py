"""Fixtures that several test files share. A test that needs a device skips, with the reason."""

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from codegen.runtime.session import Device, Session, choose, devices, open_device
from explore.record_book.book_file import VARIABLE
from ir.errors import UserError

# Tests of drawn examples have no time limits: a machine may be busy with other work.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Let Ctrl-C reach the processes that tests start: a script that runs pytest in the background
    makes it ignore Ctrl-C, and its processes would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests marked `long` first, so that at the end no core is busy with one of them while
    others wait."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """Exempt all objects that exist after collection from garbage collection, and make garbage
    collections rare. Else a worker, whose caches of terms are large, would spend a sixth of its
    time on them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def pytest_sessionfinish() -> None:
    """Exempt what the tests left from garbage collection: pytest collects twice before it ends,
    which would take seconds of each worker."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Point the cache of builds to a temporary folder, and switch the record book off, so that the
    user's own are neither read nor changed. All processes of one call of pytest share the
    folder."""
    mine = tmp_path_factory.getbasetemp()
    folder = (mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine) / "cache"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


@pytest.fixture(scope="session")
def device(own_cache: None) -> Device:
    """The default device: the first GPU that works, else a CPU."""
    try:
        return choose(None)
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def session(device: Device) -> Session:
    return open_device(device)


@pytest.fixture(scope="session")
def sessions(device: Device) -> tuple[Session, ...]:
    """A session on each device that works here."""
    return tuple(open_device(entry) for entry in devices() if isinstance(entry, Device))
