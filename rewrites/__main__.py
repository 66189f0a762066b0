"""The command `python -m rewrites FILE --family F`, which prints how a program is lowered, stage by
stage.

The stages are outlined; --stage opens one of them to its laws, and --laws all.
"""

# key: p program

import argparse
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from random import Random

from ir.command import add_set, command_parser, guard, sizes_of
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.errors import IllTyped, UserError
from ir.parse import parse_file
from ir.program_file import text_of
from ir.text.counted import counted
from ir.text.read_tree import read
from ir.text.show import show
from ir.text.surface import Number
from rewrites.adjoint.program import adjoint, gradient
from rewrites.engine.derivation import Derivation
from rewrites.engine.derivation_text import proof
from rewrites.engine.meaning_check import Checked, check
from rewrites.engine.outline_text import called, outline_text, told
from rewrites.engine.refused import Refused
from rewrites.engine.small_sizes import (
    LIMITS,
    Values,
    alike,
    cuts,
    laws_shared,
    same_steps,
    telling_values,
)
from rewrites.families.all_families import FAMILIES, family_named, first, form_named, forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with its arguments, `argv` or those of the process; returns the exit
    status."""
    options = _options(argv)
    return guard(lambda: run(options))


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = command_parser("python -m rewrites", __doc__)
    parser.add_argument("file", metavar="FILE", type=Path, help="the file of a program (*.lift)")
    parser.add_argument("--family", metavar="F", help=f"one of {', '.join(FAMILIES)}")
    parser.add_argument(
        "--form", metavar="WORDS", help="one form of the family (default: the first that applies)"
    )
    opened = parser.add_mutually_exclusive_group()
    opened.add_argument("--stage", metavar="NAME", help="print the laws of the stages of this name")
    opened.add_argument("--laws", action="store_true", help="print the laws of all stages")
    parser.add_argument(
        "--list",
        action="store_true",
        help="list the families; with --family, its forms, derived, and why others are refused",
    )
    parser.add_argument(
        "--check", action="store_true", help="interpret every step, at small sizes, and compare"
    )
    derived = parser.add_mutually_exclusive_group()
    derived.add_argument(
        "--adjoint",
        metavar="PARAMETER",
        help="print the adjoint of the program in a parameter, in which it is linear",
    )
    derived.add_argument(
        "--gradient", metavar="PARAMETER", help="print the gradient of the program in a parameter"
    )
    add_set(parser)
    return parser.parse_args(argv)


def run(options: argparse.Namespace) -> int:
    """Carry out the command's options: print forms, a derivation, or its check; returns the exit
    status."""
    sizes, p = sizes_of(options), parse_file(options.file, sizes_of(options))
    if options.adjoint or options.gradient:
        print(show(_derived(p, options)), end="")
        return 0
    if options.list:
        lines = _listing(p, family_named(options.family)) if options.family else _families(p)
        print("\n".join(lines))
        return 0
    if options.family is None:
        raise UserError(
            f"expected --list, or --family with one of {', '.join(FAMILIES)}; found neither"
        )
    lowering = lowered(p, options.family, options.form)
    story = list(_story(lowering.derivation, options))
    print("\n".join([_title(lowering), *story]))
    if options.stage is None:
        print(f"\n{show(lowering.program)}", end="")
    return _check(options.file, sizes, p, lowering) if options.check else 0


def _derived(p: Program, options: argparse.Namespace) -> Program:
    """The adjoint or gradient of a program that the options ask for; a UserError if it has none."""
    try:
        return adjoint(p, options.adjoint) if options.adjoint else gradient(p, options.gradient)
    except Refused as refused:
        asked = (
            f"adjoint in {options.adjoint}"
            if options.adjoint
            else f"gradient in {options.gradient}"
        )
        raise UserError(f"{p.name} has no {asked}: {refused}") from refused


def _title(lowering: Lowering) -> str:
    form = f", {lowering.form}" if lowering.form else ""
    steps = counted(len(lowering.derivation.steps), "step")
    return f"{lowering.program.name} by {lowering.family}{form}: {steps}\n"


def _story(d: Derivation, options: argparse.Namespace) -> Iterator[str]:
    """The lines that are printed of a derivation: its outline, or the laws of the stages that the
    options name."""
    if options.laws:
        return proof(d)
    if options.stage is None:
        return outline_text(told(d))
    opened = called(told(d), options.stage)
    return (line for s in opened for line in proof(d, range(s.first, s.end)))


def lowered(p: Program, family: str, form: str | None) -> Lowering:
    """The program lowered by the named form of a family, or by its first form that applies; a
    UserError where none does."""
    try:
        return first(p, family) if form is None else lower(p, form_named(p, family, form))
    except Refused as refused:
        raise UserError(f"{family} refuses {p.name}: {refused}") from refused


# ---- --list


def _families(p: Program) -> Iterator[str]:
    """A line for each family: how many forms it has for a program, and what it is. The forms are
    not tried, so some of them may be refused."""
    for name, family in FAMILIES.items():
        yield f"{name:15} {counted(len(forms(p, name)), 'form'):>9}  {family.meaning}"
    yield "forms that exist; --list --family F says which apply, and why others do not"


def _listing(p: Program, family: str) -> Iterator[str]:
    """The lines that list the forms of a family for a program: first those that apply, with their
    parameters, then the reasons why others do not."""
    yield family
    tried = [(form.name or "(plain)", _outcome(p, form)) for form in forms(p, family)]
    for name, made in tried:
        if isinstance(made, Lowering):
            parameters = " ".join(made.program.free) or "none"
            yield f"  {name:40} {len(made.derivation.steps):4} steps, parameters {parameters}"
    refused = sorted((str(why), name) for name, why in tried if isinstance(why, Refused))
    for why, group in groupby(refused, key=lambda pair: pair[0]):
        yield f"  refused: {', '.join(name for _, name in group)}\n    {why}"


def _outcome(p: Program, form: Form) -> Lowering | Refused:
    try:
        return lower(p, form)
    except Refused as refused:
        return refused


# ---- --check


@frozen
class _Small:
    """A program with its `sizes` made small, its derivation, and `values` for the tuning
    parameters: small enough to interpret."""

    sizes: Values
    program: Program
    derivation: Derivation
    values: Values


def _check(file: Path, sizes: Values, p: Program, lowering: Lowering) -> int:
    small = _small(file, sizes, p, lowering)
    found = check(small.program, small.derivation, small.values)
    print("\n" + _verdict(found, small.sizes, len(lowering.derivation.steps)))
    return 0 if found.wrong is None else 1


def _verdict(found: Checked, sizes: Values, printed: int) -> str:
    at = f"at {_show(sizes) or 'its sizes'}"
    at += f" with {_show(found.values)}" if found.values else ""
    if found.wrong is not None:
        return f"WRONG {at}: the term after step {found.wrong} means something else"
    fewer = f", which these sizes take instead of {printed}," if found.steps != printed else ""
    return f"checked {at}: the terms after all {found.steps} steps{fewer} mean the same"


def _show(values: Values) -> str:
    return ", ".join(f"{name} = {n}" for name, n in values.items())


def _small(file: Path, sizes: Values, p: Program, lowering: Lowering) -> _Small:
    """The program of `file` at the smallest sizes at which its derivation has the same steps as
    `lowering`, or else shares most of its laws; `sizes` are those the user set."""
    written = {**_written(file), **sizes}
    free = {name: n for name, n in written.items() if name not in sizes}
    tried: list[_Small] = []
    for used in cuts(free):
        small = _cut_down(file, {**written, **used}, p, lowering)
        if small and same_steps(small.derivation, lowering.derivation):
            return small
        tried += [small] if small else []
    if not tried:
        return _as_written(written, p, lowering)
    return max(tried, key=lambda s: laws_shared(s.derivation, lowering.derivation))


def _as_written(sizes: Values, p: Program, lowering: Lowering) -> _Small:
    values = telling_values(list(lowering.derivation.terms()), Random(0))
    if values is None:
        raise UserError(
            f"no values of the parameters up to {LIMITS[-1]} make every array of the derivation"
            f" possible at {_show(sizes) or 'these sizes'}: choose other sizes by --set"
        )
    return _Small(sizes, p, lowering.derivation, values)


def _cut_down(file: Path, used: Values, p: Program, lowering: Lowering) -> _Small | None:
    try:
        program = parse_file(file, used)
        if not alike(p.body, program.body):
            return None
        derivation = lowered(program, lowering.family, lowering.form).derivation
    except (UserError, IllTyped):
        return None
    values = telling_values(list(derivation.terms()), Random(0))
    return None if values is None else _Small(used, program, derivation, values)


def _written(file: Path) -> dict[str, int]:
    """The sizes of a program file that are plain numbers after `where`, by name."""
    found = {b.name.text: b.size for b in read(text_of(file), str(file)).where}
    return {name: int(n.value) for name, n in found.items() if isinstance(n, Number)}


if __name__ == "__main__":
    raise SystemExit(main())
