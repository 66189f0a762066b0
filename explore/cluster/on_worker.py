"""The functions that run on a worker of a cluster. The worker keeps pools of child processes, like
those of a run on one machine, and hands each task to a child. A crash or a hang costs a child,
which is replaced, and not the worker. The key of a pool is the hash of its recipe."""

import hashlib
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from codegen.runtime.devices import Device, devices, working
from explore.results.records import Failed, Stage
from explore.results.version import version
from explore.workers.pool import Pool
from ir.core.frozen import frozen

PREFIX = "cl-"  # of a resource: the worker owns the device of that number on its machine
MOST = 4  # pools of a worker, the oldest of which make room


@frozen
class Recipe:
    """The means by which a worker of a cluster carries out tasks: the `function` that does a task,
    and the limits of the pool of child processes in which it runs. `setup` takes the device that
    the worker owns (None: it owns none) and gives the function that a child calls at its start.
    `stage` is what failures name, and `load` imports what each child needs."""

    function: Callable[..., Any]
    setup: Callable[[Device | None], Callable[[], Any]]
    stage: Stage
    timeout: float
    max_memory: int | None = None
    load: Callable[[], None] | None = None


@frozen
class Hired:
    """A worker as it describes itself: its version of convlift, the device that it owns (None:
    none), and all devices of its machine (`here`)."""

    version: str
    device: Device | None
    here: tuple[Device, ...]


@dataclass(slots=True)
class _Kept:
    pool: Pool[Any, Any]
    lock: Lock


_kept: dict[str, _Kept] = {}
_keeping = Lock()


def describe(owned: int | None) -> Hired:
    """The description of the worker that runs this function; `owned` is the number of its device on
    its machine (None: it owns none)."""
    here = working(devices())
    own = next((d for d in here if d.index == owned), None)
    return Hired(version(), own, here)


def key_of(recipe: bytes) -> str:
    """The name of a recipe: the hash of its pickle."""
    return hashlib.sha256(recipe).hexdigest()


def prepare(recipe: bytes, device: Device | None) -> None:
    """Make the pool of a pickled recipe on this worker, unless it is there; if the worker has too
    many pools then, idle ones of earlier runs are ended."""
    with _keeping:
        if key_of(recipe) in _kept:
            return
        made: Recipe = pickle.loads(recipe)
        idle = [key for key, kept in _kept.items() if not kept.lock.locked()]
        for key in idle[: max(0, len(_kept) - MOST + 1)]:
            _kept.pop(key).pool.close()
        pool: Pool[Any, Any] = Pool(
            made.function,
            workers=1,
            timeout=made.timeout,
            stage=made.stage,
            setup=made.setup(device),
            max_memory=made.max_memory,
            load=made.load,
        )
        _kept[key_of(recipe)] = _Kept(pool, Lock())


def do(key: str, task: bytes, limit: float | None) -> bytes:
    """The pickled result of a pickled task, and the seconds that it took, from the pool with this
    key; the task may take `limit` seconds (None: the pool's own limit)."""
    kept = _kept[key]
    with kept.lock:
        kept.pool.submit(pickle.loads(task), limit)
        (found,) = kept.pool.results()
    return pickle.dumps((found.result, found.seconds))


def dismiss(key: str) -> None:
    """End the pool with this key on this worker."""
    with _keeping:
        if (kept := _kept.pop(key, None)) is not None:
            kept.pool.close()


def owned_by(resources: Mapping[str, float]) -> int | None:
    """The number of the device that a worker with these resources owns; None if it owns none."""
    names = sorted(name for name in resources if name.startswith(PREFIX))
    numbers = [name.removeprefix(PREFIX) for name in names]
    return next((int(n) for n in numbers if n.isdecimal()), None)


def outcome(answer: bytes) -> tuple[Any | Failed, float]:
    """The result and the seconds in an answer, which is bytes that `do` returned."""
    result, seconds = pickle.loads(answer)
    return result, float(seconds)
