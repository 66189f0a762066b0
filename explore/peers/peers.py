"""The measuring of peers on the same program and device, in turns with our best variant."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from codegen.plan import Plan
from codegen.runtime.devices import Device
from explore.measure.measure_variant import Again
from explore.measure.reference_file import stored_reference
from explore.peers import clblast_peer, tinygrad_peer, torch_peer
from explore.peers.rival import Rival, Timed, timed
from explore.results.front import pick, usable
from explore.results.options import Options, PeerName
from explore.results.records import Failed, Peer, Record
from explore.results.store import Store
from explore.workers.pool import Pool
from ir.core.nodes import Program

PASSES = 5
LIMIT = 300.0  # seconds a pass; the first one makes a peer's kernels
KNOWN: dict[PeerName, Callable[[Program, int, Path, Device], Rival]] = {
    "torch": torch_peer.rival,
    "tinygrad": tinygrad_peer.rival,
    "tinygrad-beam": partial(tinygrad_peer.rival, beam=True),
    "clblast": clblast_peer.rival,
}


@dataclass(frozen=True, slots=True)
class Duel:
    """The result of timing a peer and our plans in turns: the peer's points and our times, or why
    there are none."""

    name: str
    peers: tuple[Peer, ...]
    ours: tuple[Sequence[float], ...]  # nanoseconds: the passes over each of our plans
    reason: str = ""

    @property
    def best(self) -> Peer | None:
        return min(self.peers, key=lambda p: p.time_ns, default=None)


def measure_peers(
    store: Store,
    program: Program,
    options: Options,
    target: Device,
    device: "Pool[Any, Any]",
    plan_of: Callable[[Record], Plan],
) -> Iterator[str]:
    """Measure and store the peers that the options ask for; yields a message for each that does not
    apply."""
    if not options.against:
        return
    best = plan_of(pick(store.records())) if usable(store.records()) else None
    file = stored_reference(program, options.seed, store.folder, store.environment.reference)
    for name in options.against:
        found = duel(name, program, options.seed, file, target, device, [best] if best else [])
        if found.peers:
            store.add_peers(found.peers)
        else:
            yield f"{name}: no peer applies: {found.reason}"


def duel(
    name: PeerName,
    program: Program,
    seed: int,
    reference: Path,
    target: Device,
    device: "Pool[Any, Any]",
    ours: Sequence[Plan],
    limit: float = LIMIT,
) -> Duel:
    """The times of a peer and of each of our plans, measured pass by pass in turns."""
    setup = partial(KNOWN[name], program, seed, reference, target)
    passes: list[Timed] = []
    times: list[list[float]] = [[] for _ in ours]
    pool: Pool[int, Timed] = Pool(one_pass, workers=1, timeout=limit, stage="run", setup=setup)
    with pool:
        for number in range(PASSES):
            pool.submit(number)
            (done,) = pool.results()
            if isinstance(done.result, Failed):
                return Duel(name, (), (), done.result.reason)
            passes.append(done.result)
            for known, again in zip(times, _ours(device, ours), strict=True):
                known += again
    return Duel(name, _points(name, passes), tuple(t for t in times if t))


def one_pass(rival: Rival, _: int) -> Timed | Failed:
    """The result of one pass over all ways of a peer, or why it has none; done by the peer's
    worker."""
    return timed(rival) if rival.ways else Failed("run", rival.reason)


def _ours(device: "Pool[Any, Any]", plans: Sequence[Plan]) -> list[list[float]]:
    if not plans:
        return []
    device.submit(Again(tuple(plans)), timeout=LIMIT)
    (done,) = device.results()
    return [[] for _ in plans] if isinstance(done.result, Failed) else list(done.result)


def _points(name: str, passes: Sequence[Timed]) -> tuple[Peer, ...]:
    """The points of a peer from its passes, one for each of its ways."""
    first = passes[0]
    points = []
    for way in first.ns:
        times = [p.ns[way] for p in passes]
        note = f"{first.words}; {first.version}"
        middle = statistics.median(times)
        points.append(Peer(f"{name}, {way}", middle, first.bytes[way], spread(times), note))
    return tuple(points)


def spread(times: Sequence[float]) -> float:
    """The interquartile range of these times over their median."""
    quarter, middle, three = statistics.quantiles(times, n=4) if len(times) > 1 else [times[0]] * 3
    return (three - quarter) / middle if middle else 0.0
