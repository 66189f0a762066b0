"""The commands for devices that are not here: toolchain, bundle and absorb; and the line of
`explore devices` about such devices."""

import argparse
from typing import TYPE_CHECKING

from explore.arguments.option_groups import options_of
from explore.options.options import Options
from explore.options.units import show_bytes
from explore.toolchain.install import fetch, install, remove
from explore.toolchain.offline_devices import DEVICES
from explore.toolchain.toolchain import installed, place
from ir.errors import UserError
from ir.program_file import text_of
from ir.text.counted import counted

if TYPE_CHECKING:
    from explore.run.run import Run

INTERRUPTED = 130


def toolchain(given: argparse.Namespace) -> int:
    """Run `explore toolchain NAME`: fetch and unpack compilers, or remove them; returns the exit
    status."""
    if given.remove:
        print(f"{place()} is removed" if remove() else f"{place()} was not there")
        return 0
    if given.save is not None:
        fetch(given.save, _say)
        print(f"written to {given.save}; elsewhere: explore toolchain {given.name} --from FOLDER")
        return 0
    made = install(given.source, _say)
    size = sum(f.lstat().st_size for f in made.folder.rglob("*") if not f.is_dir())
    print(f"{made.compiler} in {made.folder}, {show_bytes(size)}")
    print(compiled_for())
    return 0


def compiled_for() -> str:
    """The line on devices that are not here: for which of them kernels can be compiled."""
    found, names = installed(), ", ".join(DEVICES)
    if found is None:
        return f"not here, and compiled for after `explore toolchain mali`: {names}"
    return f"not here, but compiled for by {found.compiler}: {names}"


def _say(line: str) -> None:
    print(line, flush=True)


def bundle(given: argparse.Namespace) -> int:
    """Run `explore bundle PROGRAM`: explore a program, unless a run is given, and write its best
    variants as a folder; returns the exit status."""
    from explore.bundle.write_bundle import write_bundle
    from explore.run.run import Run

    stored = Run(given.program).stored
    options = options_of(given)
    if stored and (given.device or given.profile or options != Options()):
        raise UserError(
            f"{given.program} is a run, which keeps the options that it began with: expected none "
            "beside --top and --out"
        )
    run = Run(given.program) if stored else _explored(given, options)
    if run is None:
        return INTERRUPTED
    out = given.out or run.folder / "bundle"
    count = write_bundle(run.records, run.environment, given.top, out, options.workers)
    print(f"{counted(count, 'variant')} in {out}: copy it to the board, run ./bundle or bundle.py")
    print(f"and bring results.jsonl back: explore absorb {run.folder} results.jsonl")
    return 0


def _explored(given: argparse.Namespace, options: Options) -> "Run | None":
    """The run of the program that is to be bundled; None if it was interrupted."""
    from explore.files.named_programs import meant
    from explore.run.run import new_folder, start
    from explore.run.source import Source
    from explore.run.target import target_of

    found = meant(given.program)
    if len(found) != 1:
        raise UserError(f"expected one program to bundle, found {len(found)} in {given.program}")
    given.sizes = (*found[0].sizes, *getattr(given, "sizes", ()))
    options = options_of(given)
    source = Source(text_of(found[0].file), str(found[0].file))
    target = target_of(given.device, given.profile, options.limits)
    try:
        run, _ = start(source, options, target, new_folder(found[0].name), given.records)
    except KeyboardInterrupt:
        return None
    return run


def absorbed(given: argparse.Namespace) -> int:
    """Run `explore absorb RUN FILE`: make a run of the file of results of a board, and print its
    front; returns the exit status."""
    from explore.bundle.absorb import absorb
    from explore.commands.stored_runs import print_front

    found = absorb(given.run, given.file, given.out)
    print("\n".join(found.lines))
    status = print_front(found.run.told, found.run.front)
    print(f"the run: {found.run.folder}; on the device itself, or with --board, it goes on by")
    print(f"explore resume {found.run.folder}")
    return status
