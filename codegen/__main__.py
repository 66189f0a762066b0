"""The command `python -m codegen`, which prints the kernels of a program, runs it, and lists the
devices here.

python -m codegen FILE                       the OpenCL of a program
python -m codegen run FILE --random 0 …      run it on a device
python -m codegen devices                    what there is to run it on
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from codegen.compile import Generated, generate_for
from codegen.runtime.devices import Device, choose
from explore.commands.stage_commands import Chosen, chosen, limits_of
from ir.array_files import add_data, data_of, save
from ir.command import add_set, command_parser, guard, sizes_of
from ir.meaning.inputs import Data, stored

DEVICE = "the device: a number, part of a name, gpu or cpu (default: the first GPU, else a CPU)"


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status of the command with the arguments `argv` (None: those of this process): 0, 1
    after a message about the program, or 2 for bad usage."""
    given = list(sys.argv[1:] if argv is None else argv)
    match given:
        case ["run", *rest]:
            options = _run_options(rest)
            return guard(lambda: run_file(options))
        case ["devices", *rest]:
            from codegen.doctor import main as doctor
            from codegen.instruction_trial import instructions_of

            return guard(lambda: doctor(rest, instructions_of))
    options = _options(given)
    return guard(lambda: print_file(options))


def _options(argv: list[str]) -> argparse.Namespace:
    parser = command_parser("python -m codegen", __doc__)
    _program_arguments(parser)
    return parser.parse_args(argv)


def _run_options(argv: list[str]) -> argparse.Namespace:
    parser = command_parser("python -m codegen run", "Run a program on a device.")
    _program_arguments(parser)
    add_data(parser)
    parser.add_argument("--device", metavar="D", help=DEVICE)
    parser.add_argument(
        "--unproved",
        action="store_true",
        help="run kernels that are not proved in bounds and race-free",
    )
    return parser.parse_args(argv)


def _program_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="the file of a program (*.lift)")
    parser.add_argument(
        "--family",
        metavar="F",
        help="the family that lowers it (default: naive, if it is not lowered)",
    )
    parser.add_argument(
        "--form", metavar="WORDS", help="one form of the family (default: the first that applies)"
    )
    add_set(parser)


def print_file(options: argparse.Namespace) -> None:
    """Print the kernels of the program that the options name."""
    found, made = _compiled(options, None)
    print(f"// {found.words}\n\n" if found.words else "", made.plan.source, sep="", end="")


def run_file(options: argparse.Namespace) -> None:
    """Run a program on a device, and write its result to a file."""
    from codegen.demand_proofs import demand_proofs
    from codegen.runtime.results import told
    from codegen.runtime.session import open_device

    device = choose(options.device)
    found, made = _compiled(options, device)
    inputs = stored(found.source, data_of(found.source, options))
    if not options.unproved:
        demand_proofs(made)
    with told(device.name):
        out = open_device(device).build(made.plan, checking=True)(inputs)
    save(options.output, out)
    words = f"; {found.words}" if found.words else ""
    print(f"{options.output}: {_kinds(out)} from {device.name}{words}")


def _compiled(options: argparse.Namespace, device: Device | None) -> tuple[Chosen, Generated]:
    """The program that the options name, and its kernels for a device; without a device (None), for
    any CPU."""
    limits = limits_of(device)
    found = chosen(options.file, sizes_of(options), options.family, options.form, limits)
    return found, generate_for(found.program, limits)


def _kinds(out: Data) -> str:
    """The text of the scalar type and shape of an array, or of each array of a tuple."""
    if isinstance(out, tuple):
        return ", ".join(map(_kinds, out))
    return f"{out.dtype} {list(out.shape)}"


if __name__ == "__main__":
    sys.exit(main())
