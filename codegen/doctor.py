"""The command `devices`: which OpenCL devices work here, which do not, and what to do about it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from codegen.runtime import platforms
from codegen.runtime.devices import Broken, Device, devices, working
from codegen.runtime.results import Tried
from ir.command import command_parser


def main(argv: Sequence[str], instructions_of: Callable[[Device, bool], Sequence[Tried]]) -> int:
    """The exit status of the command: 0 if a device works, else 1. It lists the devices and, for
    each, the instructions that `instructions_of` finds by a trial, emulated ones only if asked."""
    parser = command_parser("devices", __doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--emulated",
        action="store_true",
        help="try instructions that are emulated, too, which takes a minute",
    )
    given = parser.parse_args(argv)
    found = devices(fresh=True)
    have = {d.index: instructions_of(d, given.emulated) for d in working(found)}
    if given.json:
        print(as_lines(found, have), end="")
    else:
        print(report(found, have))
    return 0 if working(found) else 1


Instructions = Mapping[int, Sequence[Tried]]  # what devices carry out, by their numbers


def as_lines(found: Sequence[Device | Broken], have: Instructions) -> str:
    """The devices as JSON, one object a line, with the instructions that each was found to carry
    out; a broken one has "works": false, a reason and advice."""
    return "".join(json.dumps(_fields(entry, have)) + "\n" for entry in found)


def _fields(entry: Device | Broken, have: Instructions) -> dict[str, object]:
    if isinstance(entry, Broken):
        return {"works": False, **asdict(entry)}
    tried = [asdict(each) for each in have.get(entry.index, ())]
    return {"works": True, **asdict(entry), "instructions": tried}


def report(found: Sequence[Device | Broken], have: Instructions, width: int | None = None) -> str:
    """The text, `width` columns wide (None: as wide as the terminal), of a table of working
    devices, of the instructions that these carry out, then of broken ones and why."""
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        if working(found):
            console.print(_table(working(found)))
        if not all(device.local_is_dedicated for device in working(found)):
            console.print("* ordinary memory: staging in it gains nothing by itself")
        for device in working(found):
            console.print(Text(f"{device.index}: {_carried_out(have.get(device.index, ()))}"))
        for entry in found:
            if isinstance(entry, Broken):
                console.print(_complaint(entry))
        if not working(found):
            console.print(Text(f"no OpenCL device works here: {platforms.INSTALL}"))
    return captured.get().rstrip("\n")


def _table(usable: Sequence[Device]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("device", overflow="fold", min_width=20)
    for title in ("kind", "units", "group", "local", "global", "half"):
        table.add_column(title, justify="left" if title == "kind" else "right", no_wrap=True)
    for device in usable:
        table.add_row(*(Text(cell) for cell in _row(device)))
    return table


def _row(device: Device) -> tuple[str, ...]:
    return (
        str(device.index),
        f"{device.name}\n{device.platform} {device.driver}",
        "simulator" if device.simulator else device.kind,
        str(device.compute_units),
        str(device.max_work_group),
        _bytes(device.local_bytes) + ("" if device.local_is_dedicated else "*"),
        _bytes(device.global_bytes),
        "yes" if device.half else "no",
    )


def _carried_out(tried: Sequence[Tried]) -> str:
    """The words on the instructions that were tried on a device and came out right."""
    words = [f"{t.name} (emulated by shuffles)" if t.emulated else t.name for t in tried]
    return f"instructions, by trial: {', '.join(words) or 'none of the table'}"


def _complaint(broken: Broken) -> Text:
    return Text(
        f"broken: {broken.name} ({broken.platform})\n"
        f"  reason: {broken.reason}\n"
        f"  advice: {broken.advice}"
    )


def _bytes(size: int) -> str:
    for unit, step in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size >= step:
            return f"{size / step:.3g} {unit}"
    return f"{size / 1024:.3g} KiB"
