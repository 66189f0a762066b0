"""The comparison of a peer with the best variant of a run, both measured now, in turns."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from explore.measure.reference_worker import reference_in_time
from explore.options.options import Options, peer_named
from explore.peers.peers import duel
from explore.results.front import pick
from explore.results.pace import usual_of
from explore.run.source import Source
from explore.run.target import device_of
from explore.run.trusted_plans import TrustedPlans
from explore.run.worker_pools import device_pool
from explore.run_store.store import Store
from ir.errors import UserError


def _note(text: str) -> None:
    print(text, file=sys.stderr)


def compare(folder: Path, against: tuple[str, ...], trust: bool = False) -> list[dict[str, Any]]:
    """The comparison of the best variant of a run with each peer `against`, as JSON. `ratio` is the
    peer's best time over ours, null if the peer cannot compute the program. With `trust`, kernels
    that another version stored are taken, if they are proved safe to run."""
    with Store.read(folder) as store:
        known, records = store.environment, store.records()
    options = Options.from_json(known.options)
    program = Source.of(known).program(options)
    if known.options.get("profile"):
        raise UserError(
            f"expected a run on a device, found {folder}, a run for a profile: it has no times to "
            "compare"
        )
    target = device_of(known)
    peers = tuple(dict.fromkeys(map(peer_named, against)))
    best, usual = pick(records), usual_of(records)
    plan = TrustedPlans(known, trust).of(best)
    found = []
    with ExitStack() as stack:
        file, _ = reference_in_time(program, options.seed, folder, known.reference, _note)
        device = stack.enter_context(device_pool(file, program, options, target))
        for name in peers:
            result = duel(name, program, options.seed, file, target, device, [plan], usual)
            ours = result.ours[0].median_ns if result.ours else best.time_ns
            theirs = result.best
            found.append(
                {
                    "peer": name if theirs is None else theirs.name,
                    "note": f"no peer applies: {result.reason}" if theirs is None else theirs.note,
                    "id": best.variant.id,
                    "time_ns": ours,
                    "spread": result.ours[0].spread if result.ours else None,
                    "launch_ns": known.bounds.launch_ns,
                    "ways": {peer.name: peer.time_ns for peer in result.peers},
                    "memory_bytes": best.memory_bytes,
                    "peer_time_ns": None if theirs is None else theirs.time_ns,
                    "peer_spread": None if theirs is None else theirs.spread,
                    "peer_memory_bytes": None if theirs is None else theirs.memory_bytes,
                    "ratio": None if theirs is None or not ours else theirs.time_ns / ours,
                }
            )
    return found
