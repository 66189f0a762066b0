"""The measuring of peers on the same program and device, in turns with our best variant."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from codegen.plan import Plan
from codegen.runtime.devices import Device
from explore.measure.measure_tasks import Again, Passes
from explore.measure.reference_file import stored_reference
from explore.options.options import Options, PeerName
from explore.peers import clblast_peer, tinygrad_peer, torch_peer
from explore.peers.rival import Rival, Timed, timed
from explore.results.front import pick, usable
from explore.results.pace import FEW, Level, Reading, quiet, usual_of
from explore.results.records import Failed, Peer, Record
from explore.run_store.store import Store
from explore.workers.pool import Pool
from explore.workers.workers import Workers
from ir.core.frozen import frozen
from ir.core.nodes import Program

PASSES = 5  # on a machine that is left alone
MOST_PASSES = 15  # in all
REST = 0.3  # seconds after a peer's pass: its threads wait for work in a loop for a while
LIMIT = 300.0  # seconds a pass; the first one makes a peer's kernels
KNOWN: dict[PeerName, Callable[[Program, int, Path, Device], Rival]] = {
    "torch": torch_peer.rival,
    "tinygrad": tinygrad_peer.rival,
    "tinygrad-beam": partial(tinygrad_peer.rival, beam=True),
    "clblast": clblast_peer.rival,
}


@frozen
class Duel:
    """The times of a peer's points and of our plans, measured in turns, all at one pace; or the
    reason why there are none. The first of our plans is the one that peers are compared with."""

    name: str
    peers: tuple[Peer, ...]
    ours: tuple[Level, ...]  # the passes over each of our plans
    reason: str = ""

    @property
    def best(self) -> Peer | None:
        """The fastest point that computes in the program's precision; None if there is none."""
        return min(self.exact, key=lambda p: p.time_ns, default=None)

    @property
    def exact(self) -> list[Peer]:
        """The points that compute in the program's precision."""
        return [peer for peer in self.peers if peer.exact]


def measure_peers(
    store: Store,
    program: Program,
    options: Options,
    target: Device,
    device: Workers,
    plan_of: Callable[[Record], Plan],
) -> Iterator[str]:
    """Measure and store the peers that the options ask for; yields a message for each that does not
    apply. `plan_of` gives the trusted plan of a record."""
    if not options.against:
        return
    best = plan_of(pick(store.records())) if usable(store.records()) else None
    file = stored_reference(program, options.seed, store.folder, store.environment.reference)
    for name in options.against:
        plans, usual = [best] if best else [], usual_of(store.records())
        found = duel(name, program, options.seed, file, target, device, plans, usual)
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
    device: Workers,
    ours: Sequence[Plan],
    usual_ns: float | None = None,
    limit: float = LIMIT,
) -> Duel:
    """The times of the peer `name` and of our plans (`ours`) of a program, measured in turns, pass
    by pass, for at most `limit` seconds a pass. `reference` is the file of the right results for
    the inputs of the seed, and `device` the worker on the device `target`.

    Passes go on until `PASSES` of them were made on a machine left alone, where the yardstick
    takes about `usual_ns`, but not for ever; others count only if there are hardly any of these.
    """
    setup = partial(KNOWN[name], program, seed, reference, target)
    theirs: list[Timed] = []
    mine: list[Passes] = []
    pool: Pool[int, Timed] = Pool(one_pass, workers=1, timeout=limit, stage="run", setup=setup)
    with pool:
        while len(theirs) < MOST_PASSES and len(_quiet(mine, usual_ns)) < PASSES:
            pool.submit(len(theirs))
            (done,) = pool.results()
            if isinstance(done.result, Failed):
                return Duel(name, (), (), done.result.reason)
            beside = _ours(device, ours)
            if isinstance(beside, Failed):
                return Duel(name, (), (), f"our own variant failed beside it: {beside.reason}")
            theirs.append(done.result)
            mine.append(beside)
    alone = _quiet(mine, usual_ns)
    taken = alone if len(alone) >= FEW else range(len(mine))
    theirs, mine = [theirs[n] for n in taken], [mine[n] for n in taken]
    levels = tuple(
        Level.of([reading for each in mine for reading in each.readings[k]])
        for k in range(len(ours))
    )
    return Duel(name, _points(name, theirs, mine, levels), levels)


def _quiet(passes: Sequence[Passes], usual_ns: float | None) -> list[int]:
    """The numbers of the passes that were made on a machine left alone."""
    return quiet([each.yardstick_ns for each in passes], usual_ns)


def one_pass(rival: Rival, _: int) -> Timed | Failed:
    """The times of one pass over all ways of a peer, or a failure with the reason why it has none;
    the peer's worker does this."""
    return timed(rival) if rival.ways else Failed("run", rival.reason)


def _ours(device: Workers, plans: Sequence[Plan]) -> Passes | Failed:
    """The result of one pass over our plans, with the yardstick, by the worker `device`. The peer's
    pass before or after it is taken to be at the same pace."""
    time.sleep(REST)
    device.submit(Again(tuple(plans), passes=1), timeout=LIMIT)
    (done,) = device.results()
    found: Passes | Failed = done.result
    return found


def _points(
    name: str, theirs: Sequence[Timed], mine: Sequence[Passes], ours: Sequence[Level]
) -> tuple[Peer, ...]:
    """The points of a peer, one for each of its ways to compute the layer, from its passes
    (`theirs`), with what the yardstick took beside each of them, in `mine`; `ours` are the levels
    of our plans there."""
    first = theirs[0]
    points = []
    for way in first.ns:
        taken = [
            Reading(p.ns[way], beside.yardstick_ns) for p, beside in zip(theirs, mine, strict=True)
        ]
        level, note = Level.of(taken), f"{first.words}; {first.version}"
        point = Peer(
            f"{name}, {way}",
            level.median_ns,
            first.bytes[way],
            level.spread,
            note,
            level.yardstick_ns,
            first.precision.get(way, "float"),
            ours[0].at(level.yardstick_ns) if ours else None,
        )
        points.append(point)
    return tuple(points)
