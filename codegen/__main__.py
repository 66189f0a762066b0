"""python -m codegen: what code generation makes of a program, runs of it, and the devices here.

python -m codegen FILE                       the OpenCL of a program
python -m codegen run FILE --random 0 …      run it on a device
python -m codegen devices                    what there is to run it on
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.compile import generate
from ir.array_files import add_data, data_of, save
from ir.command import add_set, guard, sizes_of
from ir.core.nodes import MapPar, MapSeq, Program, ReduceSeq, Store, ToLocal, ToPrivate
from ir.core.terms import subterms
from ir.meaning.inputs import Data, stored
from ir.parse import elaborated, names_of_sizes
from ir.program_file import text_of
from ir.text.read_tree import read

if TYPE_CHECKING:
    from constraints.devices import Profile

LOWERED = MapPar | MapSeq | ReduceSeq | ToLocal | ToPrivate | Store


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 after a message about the program, 2 for bad usage."""
    given = list(sys.argv[1:] if argv is None else argv)
    match given:
        case ["run", *rest]:
            options = _run_options(rest)
            return guard(lambda: run_file(options))
        case ["devices", *rest]:
            from codegen.runtime.doctor import main as doctor

            return guard(lambda: doctor(rest))
    options = _options(given)
    return guard(lambda: print_file(options))


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    _program_arguments(parser)
    return parser.parse_args(argv)


def _run_options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m codegen run", description="Run on a device.")
    _program_arguments(parser)
    add_data(parser)
    parser.add_argument("--device", help="a number, part of a name, gpu or cpu")
    parser.add_argument(
        "--unproved",
        action="store_true",
        help="run kernels that are not proved in bounds and race-free",
    )
    return parser.parse_args(argv)


def _program_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a program (*.lift)")
    parser.add_argument("--family", help="how to lower it; programs not lowered yet: naive")
    parser.add_argument("--form", help="one form of the family (default: the first that applies)")
    add_set(parser)


def print_file(options: argparse.Namespace) -> None:
    """The kernels of a program."""
    from constraints.devices import profile

    limits = profile("cpu")
    chosen = _chosen(options, limits)
    made = generate(chosen.program, max_work_group=limits.group_items)
    print(f"// {chosen.words}\n\n" if chosen.words else "", made.plan.source, sep="", end="")


def run_file(options: argparse.Namespace) -> None:
    """A program's result on a device, written to a file."""
    from codegen.proof.prove import demand_proofs
    from codegen.runtime.devices import choose
    from codegen.runtime.session import open_device
    from explore.run.target import profile_of

    device = choose(options.device)
    limits = profile_of(device)
    chosen = _chosen(options, limits)
    inputs = stored(chosen.source, data_of(chosen.source, options))
    made = generate(chosen.program, max_work_group=limits.group_items)
    if not options.unproved:
        demand_proofs(made.kernels)
    out = open_device(device).build(made.plan, checking=True)(inputs)
    save(options.output, out)
    words = f"; {chosen.words}" if chosen.words else ""
    print(f"{options.output}: {_kinds(out)} from {device.name}{words}")


def _kinds(out: Data) -> str:
    """What arrays these are."""
    if isinstance(out, tuple):
        return ", ".join(map(_kinds, out))
    return f"{out.dtype} {list(out.shape)}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A program as written, as it is run, and in words what was chosen for it."""

    source: Program
    program: Program
    words: str = ""


def _chosen(options: argparse.Namespace, device: "Profile") -> Chosen:
    """A lowered program as it stands; any other through a family; open sizes legal."""
    from explore.space.legal_point import closed, lowered_at

    file = read(text_of(options.file), str(options.file))
    sizes = sizes_of(options)
    if options.family is None and options.form is None:
        source = elaborated(file, sizes)
        if is_lowered(source):
            program, values = closed(source, device)
            return Chosen(source, program, _words(source.name, values, {}))
        return Chosen(source, lowered_at(source, "naive", None, {}, device)[0])
    known = names_of_sizes(file)
    source = elaborated(file, {name: n for name, n in sizes.items() if name in known})
    asked = {name: n for name, n in sizes.items() if name not in known}
    family = options.family or "naive"
    program, values = lowered_at(source, family, options.form, asked, device)
    return Chosen(source, program, _words(family, values, asked))


def _words(name: str, values: Mapping[str, int], asked: Mapping[str, int]) -> str:
    """What was set, and what was chosen."""
    free = {p: n for p, n in values.items() if p not in asked}
    parts = [" ".join(f"{p}={n}" for p, n in asked.items())] if asked else []
    if free:
        chosen = " ".join(f"{p}={n}" for p, n in free.items())
        parts.append(f"{chosen} chosen (--set gives others)")
    return f"{name}: {', '.join(parts)}" if parts else ""


def is_lowered(program: Program) -> bool:
    """Whether someone has said how some part of it is to be computed."""
    return any(isinstance(e, LOWERED) for e in subterms(program.body))


if __name__ == "__main__":
    sys.exit(main())
