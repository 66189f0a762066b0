"""Peers."""

from collections.abc import Iterator

from codegen.devices import Device
from explore.options import Options
from explore.store import Store
from ir.nodes import Program


def measure_peers(
    store: Store, program: Program, options: Options, device: Device
) -> Iterator[str]:
    """Nothing yet."""
    yield from ()
