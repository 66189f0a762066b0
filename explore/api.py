"""The Python side: explore a program, compile one variant of it, call it on arrays."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.devices import Device, choose
from codegen.runtime.session import open_device
from explore.peers.peers import peer_named
from explore.results.options import Options, Strategy, demand_whole
from explore.results.units import parse_bytes, parse_seconds
from explore.run.compiled_variant import Compiled
from explore.run.run import Run, Source, new_folder, start
from explore.run.target import Target, profile_of
from explore.space.legal_point import lowered_at
from ir.core.nodes import Program
from ir.errors import UserError
from ir.parse import parse_file
from ir.text.show import show
from rewrites.families.all_families import family_named

Written = Program | str | Path


def compile(
    program: Written,
    family: str = "naive",
    parameters: Mapping[str, int] | None = None,
    *,
    form: str | None = None,
    device: str | int | Device | None = None,
) -> Compiled:
    """One variant, checked against the device's constraints; parameters left out are chosen."""
    core, point = program_of(program), dict(parameters or {})
    for name, value in point.items():
        demand_whole(f"parameter {name}", value)
    found = device_meant(device)
    limits = profile_of(found)
    concrete, _ = lowered_at(core, family, form, point, limits)
    made = generate(concrete, max_work_group=limits.group_items)
    demand_proofs(made)
    names = tuple(p.var.name for p in core.params)
    return Compiled(made.plan, open_device(found).build(made.plan), names)


def explore(
    program: Written,
    *,
    variants: int = 1000,
    device: str | int | Device | None = None,
    seed: int = 0,
    families: Sequence[str] = (),
    max_memory: str | int | None = None,
    max_error: float = 1e-4,
    time_limit: str | float | None = None,
    jobs: int | None = None,
    strategy: Strategy = "guided",
    against: Sequence[str] = (),
    out: str | Path | None = None,
) -> Run:
    """Build, check and measure variants of a program; the run they are kept in."""
    core = program_of(program)
    options = Options(
        variants=variants,
        seed=seed,
        families=tuple(map(family_named, _names("families", families))),
        max_memory=parse_bytes(max_memory) if isinstance(max_memory, str) else max_memory,
        max_error=max_error,
        time_limit_s=parse_seconds(time_limit) if isinstance(time_limit, str) else time_limit,
        jobs=jobs,
        strategy=strategy,
        against=tuple(map(peer_named, _names("against", against))),
    )
    found = device_meant(device)
    folder = new_folder(core.name) if out is None else _folder(out)
    source = Source(show(core), core.name)
    run, _ = start(source, options, Target(profile_of(found), found), folder)
    return run


def program_of(program: Written) -> Program:
    """A program, from its text, its file, or itself."""
    match program:
        case Program():
            return program
        case Path():
            return parse_file(program)
        case str():
            from ir.parse import parse

            return parse(program)
        case _:
            found = type(program).__name__
            raise UserError(f"expected a program, its text or the path of its file, found {found}")


def device_meant(device: str | int | Device | None) -> Device:
    """A device, by itself, its number or part of its name; or the one that is best."""
    if isinstance(device, Device):
        return device
    return choose(None if device is None else str(device))


def _names(what: str, given: Sequence[str]) -> Sequence[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UserError(f"{what}: expected a list of names, found {given!r}")
    return tuple(map(str, given))


def _folder(out: object) -> Path:
    if not isinstance(out, str | Path) or not str(out):
        raise UserError(f"out: expected the path of a folder, found {out!r}")
    return Path(out)
