"""Who builds and measures the variants of a run, and on which device, as options say."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from explore.options.options import Options
from explore.run.target import Target, target_of
from explore.run.worker_pools import Here
from explore.workers.hands import Hands
from ir.errors import UserError


@contextmanager
def hands_of(given: argparse.Namespace, options: Options) -> Iterator[tuple[Target, Hands]]:
    """The target and the hands of a run: this machine's, or those of the cluster that is named."""
    if given.cluster is None:
        yield target_of(given.device, given.profile, options.limits), Here()
        return
    if given.profile is not None:
        raise UserError("--cluster measures on devices: expected no profile")
    if options.against:
        raise UserError("--cluster measures no peers: `explore compare` does, where the device is")
    from explore.cluster.cluster import joined  # here: Dask takes a second to import

    with joined(given.cluster, options.workers, _note) as cluster:
        yield target_of(cluster.device(given.device), None, options.limits), cluster


def _note(line: str) -> None:
    print(line, file=sys.stderr)
