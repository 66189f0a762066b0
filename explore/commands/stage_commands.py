"""The lowered programs, points and devices that `python -m codegen` and `python -m constraints`
take from `explore`.

Those two packages do not import each other. Only their `__main__` imports this module, for what
neither package has: a program lowered by a family, a legal point, a device's profile.
"""

from collections.abc import Mapping
from pathlib import Path

from codegen.runtime.devices import Device, choose
from constraints.devices import Profile, profile
from constraints.relations.relations import Constraint
from explore.options.options import Domain
from explore.run.target import profile_of
from explore.space.derive_form import asked
from explore.space.legal_point import closed, lowered_at
from explore.space.lowering import lowering
from explore.space.search_domain import narrowed
from ir.core.frozen import frozen
from ir.core.nodes import MapPar, MapSeq, Program, ReduceSeq, Store, ToLocal, ToPrivate
from ir.core.terms import subterms
from ir.parse import elaborated, names_of_sizes
from ir.program_file import text_of
from ir.text.read_tree import read

LOWERED = MapPar | MapSeq | ReduceSeq | ToLocal | ToPrivate | Store
Sizes = Mapping[str, int]


@frozen
class Chosen:
    """A program as written and as it is run, with a line on what was chosen for it."""

    source: Program
    program: Program
    words: str = ""


def limits_of(device: Device | None) -> Profile:
    """The profile of a device; if there is none, that of a CPU."""
    return profile("cpu") if device is None else profile_of(device)


def limits_named(device: str) -> Profile:
    """The profile of a device on this machine, named by its number or part of its name."""
    return profile_of(choose(device))


def chosen(file: Path, sizes: Sizes, family: str | None, form: str | None, on: Profile) -> Chosen:
    """The program in a file, ready to run: as it is if it is lowered, else lowered by a family in
    the form named `form` (None: the first that applies).

    Its open parameters, but those in `sizes`, get values that are legal on the device `on`.
    """
    written = read(text_of(file), str(file))
    if family is None and form is None:
        source = elaborated(written, sizes)
        if is_lowered(source):
            program, values = closed(source, on)
            return Chosen(source, program, _words(source.name, values, {}))
        return Chosen(source, lowered_at(source, "naive", None, {}, on)[0])
    known = names_of_sizes(written)
    source = elaborated(written, {name: n for name, n in sizes.items() if name in known})
    given = {name: n for name, n in sizes.items() if name not in known}
    program, values = lowered_at(source, family or "naive", form, given, on)
    return Chosen(source, program, _words(family or "naive", values, given))


def _words(name: str, values: Sizes, given: Sizes) -> str:
    """The line that shows the values of the parameters, after `name`: first those in `given`, then
    the others, which were chosen; empty if there are no parameters."""
    free = {p: n for p, n in values.items() if p not in given}
    parts = [" ".join(f"{p}={n}" for p, n in given.items())] if given else []
    if free:
        drawn = " ".join(f"{p}={n}" for p, n in free.items())
        parts.append(f"{drawn} chosen (--set gives others)")
    return f"{name}: {', '.join(parts)}" if parts else ""


def is_lowered(program: Program) -> bool:
    """True if a node of the program says which work-item runs it or which memory holds it."""
    return any(isinstance(e, LOWERED) for e in subterms(program.body))


def demanded(
    program: Program, family: str, form: str | None, domain: Domain | None, on: Profile
) -> tuple[Program, list[Constraint]]:
    """The program lowered by a family, in the form named `form` (None: the first that applies),
    with its parameters open; and the constraints of the family and of the domain."""
    found = narrowed(lowering(program, family, form), program, domain)
    return found.program, asked(found, on)
