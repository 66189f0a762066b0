"""The hands that build and measure the variants of a run, and the devices to explore, as the
options say."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from codegen.runtime.devices import Broken, Device, choose, devices, of_each_kind
from explore.options.options import Options
from explore.run.target import Target, target_of
from explore.run.worker_pools import Here
from explore.workers.hands import Hands
from ir.core.frozen import frozen
from ir.errors import UserError

if TYPE_CHECKING:
    from explore.board.board import Board

EACH = "each"  # in place of a device: one of every kind


@frozen
class Workplace:
    """The hands that build and measure, and the function that lists their devices. `cluster` is the
    address at which other processes join them; None if they are not a cluster's."""

    hands: Hands
    devices: Callable[[], Sequence[Device | Broken]]
    cluster: str | None = None


@contextmanager
def workplace(given: argparse.Namespace, options: Options) -> Iterator[Workplace]:
    """The workplace that options name: this machine, a cluster, or a board."""
    if given.cluster is None and given.board is None:
        yield Workplace(Here(), devices)
        return
    if getattr(given, "profile", None) is not None:
        raise UserError(f"expected no --profile with --cluster or --board, found {given.profile}")
    if options.against:
        raise UserError(
            "--against measures on this machine: expected no peer with --cluster or --board, found "
            f"{', '.join(options.against)}; `explore compare` measures peers where the device is"
        )
    if given.board is not None:
        board = _board(given)
        yield Workplace(board, lambda: (board.device(),))
        return
    with of_cluster(given.cluster, options) as place:
        yield place


@contextmanager
def of_cluster(address: str, options: Options) -> Iterator[Workplace]:
    """The workplace of the cluster at an address."""
    from explore.cluster.cluster import joined  # here: Dask takes a second to import

    with joined(address, options.workers, _note) as cluster:
        yield Workplace(cluster, cluster.kinds, cluster.address)


def targets_of(given: argparse.Namespace, place: Workplace, options: Options) -> list[Target]:
    """The targets that options name at a workplace: one device or profile, or, for `each`, a device
    of every kind that is there."""
    if given.profile is not None:
        return [target_of(None, given.profile, options.limits)]
    found = place.devices()
    if given.device == EACH and (kinds := of_each_kind(found)):
        return [target_of(device, None, options.limits) for device in kinds]
    spec = None if given.device == EACH else given.device
    return [target_of(choose(spec, found), None, options.limits)]


def _board(given: argparse.Namespace) -> "Board":
    """The board that options name."""
    from explore.board.board import Board  # here: few runs are on boards
    from explore.board.board_token import VARIABLE, token_of

    host, _, port = given.board.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise UserError(f"--board: expected HOST:PORT, found {given.board!r}")
    token = token_of(given.token)
    if token is None:
        raise UserError(
            f"--board: expected its token in {VARIABLE} or by --token FILE, found neither"
        )
    return Board(host, int(port), token, _note)


def _note(line: str) -> None:
    print(line, file=sys.stderr)
