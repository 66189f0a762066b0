"""A Dask.distributed cluster that a run has joined: its workers, their devices, and what they do
for the run."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from logging import CRITICAL
from pathlib import Path
from typing import Any

from codegen.runtime.devices import Device, devices, kind_of, of_each_kind, working
from constraints.devices import Profile
from explore.building import build_worker
from explore.building.build_worker import BUILD_LIMIT, BUILD_MEMORY
from explore.cluster.cluster_pool import ClusterPool
from explore.cluster.on_worker import PREFIX, Hired, Recipe, describe, owned_by
from explore.measure import measure_worker
from explore.measure.instruction_worker import instructions_in_time
from explore.measure.measure_tasks import RUN_LIMIT
from explore.measure.reference import largest_error
from explore.measure.roofline import measured as roofline
from explore.options.options import Options
from explore.results.version import version
from explore.workers.workers import Workers
from ir.core.nodes import Program
from ir.errors import UserError

LOCAL = "local"
JOINING = 60.0  # seconds in which a scheduler must answer, and a worker with a device must be there
LOOPBACK = {"host": "127.0.0.1"}
EACH = {"nthreads": 1, "dashboard": False, "silence_logs": CRITICAL, "memory_limit": 0}
ASKED = 180.0  # seconds for the limits of a device, or for its instructions


@dataclass(slots=True)
class Cluster:
    """A cluster as a run uses it; `client` is Dask's, and `note` prints messages. Each worker is
    asked once which version and devices it has: `_asked` holds the future of its answer, and
    `_hired` the worker as it describes itself (None: it cannot work for this run), both by
    address."""

    client: Any
    note: Callable[[str], None]
    _asked: dict[str, Any] = field(default_factory=dict)
    _hired: dict[str, Hired | None] = field(default_factory=dict)

    def hired(self) -> dict[str, Hired]:
        """The workers that are connected now and have told who they are, by address. A worker with
        another version is left out, which is noted."""
        there = self._there()
        for worker, told in there.items():
            if worker not in self._asked:
                owned = owned_by(told.get("resources") or {})
                self._asked[worker] = self.client.submit(
                    describe, owned, workers=[worker], pure=False, retries=0
                )
            if worker not in self._hired and self._asked[worker].done():
                self._hired[worker] = self._accepted(worker, self._asked[worker])
        return {w: h for w in there if (h := self._hired.get(w)) is not None}

    def _accepted(self, worker: str, answer: Any) -> Hired | None:
        """The worker as its answer describes it; None if it cannot work for this run, which is
        noted."""
        if answer.status != "finished":
            self.note(f"{worker} is left out: it cannot load convlift {version()}")
            return None
        hired: Hired = answer.result()
        if hired.version != version():
            self.note(f"{worker} is left out: it has convlift {hired.version}, not {version()}")
            return None
        return hired

    def kinds(self) -> tuple[Device, ...]:
        """A device of each kind that workers own. It waits until a worker with a device is
        connected, and then for some time until all connected workers have told what they own."""
        until = time.monotonic() + JOINING
        while True:
            found = [h.device for h in self.hired().values() if h.device is not None]
            late = time.monotonic() > until
            if found and (late or self._all_told()):
                return of_each_kind(found)
            if late:
                raise UserError(
                    f"no worker of the cluster owns a device: start one with `--nthreads 1 "
                    f'--resources "{PREFIX}0=1"`, where 0 is its number in `explore devices` there'
                )
            time.sleep(0.1)

    def _all_told(self) -> bool:
        """True if all connected workers have told who they are."""
        return self._there().keys() <= self._hired.keys()

    def _there(self) -> Mapping[str, Mapping[str, Any]]:
        """The workers that the scheduler knows now, by address, with what they told the
        scheduler."""
        there: Mapping[str, Mapping[str, Any]] = self.client.scheduler_info(n_workers=-1)["workers"]
        return there

    @property
    def address(self) -> str:
        """The address of the scheduler, at which other processes join the same cluster."""
        return str(self.client.scheduler.address)

    def _builders(self) -> Mapping[str, Device | None]:
        """The workers that own no device, by address, each with a device of its machine (None: it
        has none)."""
        return {w: next(iter(h.here), None) for w, h in self.hired().items() if h.device is None}

    def _owners(self, device: Device) -> Mapping[str, Device]:
        """The workers that own a device of the same kind as `device`, each with its own."""
        return {
            worker: hired.device
            for worker, hired in self.hired().items()
            if hired.device is not None and kind_of(hired.device) == kind_of(device)
        }

    # ---- for a run

    def builders(self, options: Options, device: Device | None, profile: Profile) -> Workers:
        """The workers that derive forms and build variants: those that own no device."""
        setup = partial(_builder, device, profile)
        recipe = Recipe(
            build_worker.work, setup, "build", BUILD_LIMIT, BUILD_MEMORY, build_worker.load
        )
        return ClusterPool(self.client, self._builders, recipe, self.note)

    def meters(self, file: Path, program: Program, options: Options, device: Device) -> Workers:
        """The workers that own devices of this kind; the right results in `file` are sent to
        them."""
        error = largest_error(program, options.max_error)
        setup = partial(_meter, program, options.seed, file.read_bytes(), error)
        recipe = Recipe(measure_worker.measure, setup, "run", RUN_LIMIT, load=measure_worker.load)
        return ClusterPool(self.client, partial(self._owners, device), recipe, self.note)

    def instructions(self, device: Device) -> tuple[str, ...]:
        """The names of the instructions that a device really has, found by a worker that owns one
        of its kind."""
        return tuple(self._by_an_owner(instructions_in_time, device, "instructions"))

    def limits(self, device: Device) -> Mapping[str, float | None]:
        """The limits of a device by their names in `Bounds`, measured by a worker that owns one of
        its kind; None for what could not be measured."""
        return dict(self._by_an_owner(roofline, device, "limits"))

    def _by_an_owner(self, ask: Callable[[Device], Any], device: Device, what: str) -> Any:
        """The result of calling `ask` on a worker that owns a device of this kind; it is called
        with that worker's device, and gives what messages call `what`. A UserError if no such
        worker is there, or if it does not answer in time."""
        worker, own = next(iter(self._owners(device).items()), (None, None))
        if own is None:
            raise UserError(
                f"the {what} of {device.name} are not known: no worker of the cluster owns such a "
                "device now; start one, or wait until it is back"
            )
        asked = self.client.submit(ask, own, workers=[worker], pure=False, retries=0)
        try:
            return asked.result(timeout=ASKED)
        except TimeoutError:
            raise UserError(
                f"expected the worker at {worker} to tell the {what} of its device {own.name} "
                f"({own.platform}, driver {own.driver}) within {ASKED:g} s, found no answer; start "
                "that worker again, or take it out of the cluster"
            ) from None


def _builder(device: Device | None, profile: Profile, own: Device | None) -> "partial[Any]":
    """The setup of a builder on a machine that has the device `own`. Kernels are built for `own` if
    it is of the same kind as `device`, the one measured on, which has this profile; else the
    builder only makes and proves plans, and kernels are first built where they run."""
    same = own is not None and device is not None and kind_of(own) == kind_of(device)
    return partial(build_worker.builder_for, own if same else None, profile)


def _meter(
    program: Program, seed: int, reference: bytes, error: float, own: Device | None
) -> "partial[Any]":
    """The setup of a worker that measures on its device `own`, with the right results in the bytes
    `reference`; results with an error above `error` are wrong."""
    assert own is not None
    return partial(measure_worker.meter_for, own, program, seed, reference, error)


@contextmanager
def joined(address: str, jobs: int, note: Callable[[str], None]) -> Iterator[Cluster]:
    """The cluster at an address such as `tcp://host:8786`; `note` prints messages. For the address
    `local` it is started on this machine, with a worker for each device and `jobs` workers that
    build."""
    try:
        from distributed import Client, Nanny, Scheduler, SpecCluster
    except ImportError:
        raise UserError(
            "--cluster needs Dask.distributed: pip install 'convlift[cluster]'"
        ) from None
    if address != LOCAL:
        try:
            client = Client(address, timeout=JOINING, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as error:  # also: TLS is demanded
            raise UserError(f"no cluster answers at {address}: {error}") from None
        with client:
            yield Cluster(client, note)
        return
    with (
        SpecCluster(
            workers=_local_workers(Nanny, jobs),
            scheduler={"cls": Scheduler, "options": {"dashboard": False, "port": 0, **LOOPBACK}},
            silence_logs=CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield Cluster(client, note)


def _local_workers(nanny: type, jobs: int) -> dict[str, Any]:
    """The specifications of workers on this machine: one for each device, and `jobs` builders."""
    own = [device for device in working(devices()) if not device.simulator]
    made: dict[str, Any] = {f"device-{d.index}": {f"{PREFIX}{d.index}": 1} for d in own}
    made |= {f"builder-{n}": {} for n in range(jobs)}
    return {
        name: {"cls": nanny, "options": {**EACH, **LOOPBACK, "resources": owned}}
        for name, owned in made.items()
    }
