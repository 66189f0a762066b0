"""Other libraries on the same program, on the same device, in turns with our best variant."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.devices import Device
from codegen.plan import Plan
from explore.front import pick, usable
from explore.measure import Again
from explore.options import Options
from explore.records import Failed, Peer
from explore.reference import stored_reference
from explore.store import Store
from explore.torch_peer import Timed, once, setup_for
from explore.worker import Pool
from ir.errors import UserError
from ir.nodes import Program

PASSES = 5
LIMIT = 120.0  # seconds a pass
KNOWN = ("torch",)


@dataclass(frozen=True, slots=True)
class Duel:
    """A peer's points, and our best variant's time measured in turns with it; or why none."""

    name: str
    peers: tuple[Peer, ...]
    ours_ns: float | None
    reason: str = ""

    @property
    def best(self) -> Peer | None:
        return min(self.peers, key=lambda p: p.time_ns, default=None)


def peer_named(name: str) -> str:
    """The peer, or an error that lists what there is."""
    if name not in KNOWN:
        raise UserError(f"no peer {name!r}: expected {', '.join(KNOWN)}")
    return name


def measure_peers(
    store: Store, program: Program, options: Options, target: Device, device: "Pool[Any, Any]"
) -> Iterator[str]:
    """Measures what the options ask for and stores it; says what does not apply."""
    best = pick(store.records()).variant.plan if usable(store.records()) else None
    file = stored_reference(program, options.seed, store.folder)
    for name in options.against:
        found = duel(name, program, options.seed, file, target, device, best)
        if found.peers:
            store.add_peers(found.peers)
        else:
            yield f"{name}: no peer applies: {found.reason}"


def duel(
    name: str,
    program: Program,
    seed: int,
    reference: Path,
    target: Device,
    device: "Pool[Any, Any]",
    ours: Plan | None,
) -> Duel:
    """Pass by pass, theirs and ours in turns."""
    setup = setup_for(program, seed, reference, target.kind == "gpu")
    passes: list[Timed] = []
    times: list[float] = []
    pool: Pool[Any, Any] = Pool(once, workers=1, timeout=LIMIT, stage="run", setup=setup)
    with pool:
        for number in range(PASSES):
            pool.submit(number)
            (done,) = pool.results()
            if isinstance(done.result, Failed):
                return Duel(name, (), None, done.result.reason)
            passes.append(done.result)
            times += _ours(device, ours)
    return Duel(name, _points(name, passes), statistics.median(times) if times else None)


def _ours(device: "Pool[Any, Any]", plan: Plan | None) -> list[float]:
    if plan is None:
        return []
    device.submit(Again((plan,)), timeout=LIMIT)
    (done,) = device.results()
    return [] if isinstance(done.result, Failed) else [float(t) for t in done.result[0]]


def _points(name: str, passes: list[Timed]) -> tuple[Peer, ...]:
    """One point a memory layout."""
    points = []
    for layout in passes[0].ns:
        times = sorted(p.ns[layout] for p in passes)
        middle = statistics.median(times)
        note = f"{passes[0].words}; {passes[0].version}"
        spread = (times[-2] - times[1]) / middle if len(times) > 3 and middle else 0.0
        points.append(Peer(f"{name}, {layout}", middle, passes[0].bytes, spread, note))
    return tuple(points)
