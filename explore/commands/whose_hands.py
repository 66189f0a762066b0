"""Who builds and measures the variants of a run, and on which device, as options say."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from explore.board.board import Board
from explore.commands.board_token import VARIABLE, token_of
from explore.options.options import Options
from explore.run.target import Target, target_of
from explore.run.worker_pools import Here
from explore.workers.hands import Hands
from ir.errors import UserError


@contextmanager
def hands_of(given: argparse.Namespace, options: Options) -> Iterator[tuple[Target, Hands]]:
    """The target and the hands of a run: this machine's, or those of the cluster that is named."""
    if given.cluster is None and given.board is None:
        yield target_of(given.device, given.profile, options.limits), Here()
        return
    if given.profile is not None:
        raise UserError("--cluster and --board measure on devices: expected no profile")
    if options.against:
        raise UserError("no peer is measured elsewhere: `explore compare` does where the device is")
    if given.board is not None:
        board = _board(given)
        yield target_of(board.device(), None, options.limits), board
        return
    from explore.cluster.cluster import joined  # here: Dask takes a second to import

    with joined(given.cluster, options.workers, _note) as cluster:
        yield target_of(cluster.device(given.device), None, options.limits), cluster


def _board(given: argparse.Namespace) -> Board:
    """The board that options name."""
    host, _, port = given.board.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise UserError(f"--board: expected HOST:PORT, found {given.board!r}")
    token = token_of(given.token)
    if token is None:
        raise UserError(f"--board: expected its token, in {VARIABLE} or by --token FILE")
    return Board(host, int(port), token, _note)


def _note(line: str) -> None:
    print(line, file=sys.stderr)
