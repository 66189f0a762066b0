"""python -m codegen: what code generation makes of a program, runs of it, and the devices here.

python -m codegen FILE                       the OpenCL of a program
python -m codegen run FILE --random 0 …      run it on a device
python -m codegen devices                    what there is to run it on
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from codegen.compile import Generated, generate
from ir.errors import IllTyped, Unsupported, UserError
from ir.nodes import MapPar, MapSeq, Program, ReduceSeq, Store, ToLocal, ToPrivate
from ir.parse import parse_file
from ir.terms import subterms

LOWERED = MapPar | MapSeq | ReduceSeq | ToLocal | ToPrivate | Store


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 after a message about the program, 2 for bad usage."""
    given = list(sys.argv[1:] if argv is None else argv)
    verbs: dict[str, Callable[[list[str]], int]] = {"run": _run, "devices": _devices}
    try:
        if given and given[0] in verbs:
            return verbs[given[0]](given[1:])
        return _print(given)
    except (UserError, Unsupported, IllTyped) as mistake:
        print(mistake, file=sys.stderr)
        return 1


def _devices(argv: list[str]) -> int:
    from codegen.doctor import main as doctor

    return doctor(argv)


def _print(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    _program_arguments(parser)
    given = parser.parse_args(argv)
    print(generated(given.file, given.family, _sizes(given.set), 256).plan.source, end="")
    return 0


def _run(argv: list[str]) -> int:
    from codegen.devices import choose
    from codegen.prove import demand_proofs
    from codegen.runtime import open_device

    parser = argparse.ArgumentParser(prog="python -m codegen run", description="Run on a device.")
    _program_arguments(parser)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--input", action="append", metavar="NAME=FILE.npy", default=[])
    source.add_argument("--random", type=int, metavar="SEED")
    parser.add_argument("--output", type=Path, required=True, metavar="OUT.npy")
    parser.add_argument("--device", help="a number, part of a name, gpu or cpu")
    parser.add_argument(
        "--unproved",
        action="store_true",
        help="run kernels that are not proved in bounds and race-free",
    )
    given = parser.parse_args(argv)
    program = parse_file(given.file, _sizes(given.set))
    inputs = _inputs(program, given.input, given.random)
    device = choose(given.device)
    made = lowered_and_generated(program, given.family, device.max_work_group)
    if not given.unproved:
        demand_proofs(made.kernels)
    out = open_device(device).build(made.plan, checking=True)(inputs)
    np.save(given.output, out)
    print(f"{given.output}: {out.dtype} {list(out.shape)} from {device.name}")
    return 0


def _program_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a program (*.lift)")
    parser.add_argument("--family", help="how to lower it; programs not lowered yet: naive")
    parser.add_argument("--set", action="append", metavar="NAME=SIZE", default=[])


def generated(file: Path, family: str | None, sizes: Mapping[str, int], group: int) -> Generated:
    """The kernels of a program's file."""
    return lowered_and_generated(parse_file(file, sizes), family, group)


def lowered_and_generated(program: Program, family: str | None, group: int) -> Generated:
    """A lowered program as it stands; any other through a family."""
    if family is not None or not is_lowered(program):
        from explore.lowering import lower

        program = lower(program, family or "naive", {})
    return generate(program, max_work_group=min(group, 256))


def is_lowered(program: Program) -> bool:
    """Whether someone has said how some part of it is to be computed."""
    return any(isinstance(e, LOWERED) for e in subterms(program.body))


def _inputs(program: Program, files: list[str], seed: int | None) -> Mapping[str, np.ndarray]:
    from ir.inputs import random_inputs

    if seed is not None:
        return {k: np.asarray(v) for k, v in random_inputs(program, seed).items()}
    return {name: _array(path) for name, path in map(_pair, files)}


def _array(path: str) -> "np.ndarray":
    try:
        loaded = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as problem:
        raise UserError(f"cannot read an array from {path}: {problem}") from problem
    if not isinstance(loaded, np.ndarray):
        raise UserError(f"{path} holds several arrays; expected a .npy file with one")
    return loaded


def _sizes(pairs: list[str]) -> dict[str, int]:
    found = dict(map(_pair, pairs))
    for name, text in found.items():
        if not text.lstrip("-").isdecimal():
            raise UserError(f"--set {name}={text}: expected a whole number")
    return {name: int(text) for name, text in found.items()}


def _pair(text: str) -> tuple[str, str]:
    name, equals, rest = text.partition("=")
    if not equals or not name:
        raise UserError(f"expected NAME=VALUE, found {text!r}")
    return name, rest


if __name__ == "__main__":
    sys.exit(main())
