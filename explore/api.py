"""The Python interface: explore a program, compile one variant of it, and call it on arrays."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from codegen.compile import generate_for
from codegen.demand_proofs import demand_proofs
from codegen.runtime.devices import Device
from codegen.runtime.session import session_of
from explore.options.option_values import demand_whole
from explore.options.options import Asked, Options
from explore.run.best_known import best_known
from explore.run.book_keeping import Records
from explore.run.compiled_variant import Compiled
from explore.run.run import Run, limits_of, new_folder, start
from explore.run.source import Source
from explore.run.target import device_meant, profile_of, target_of
from explore.space.legal_point import lowered_at
from ir.core.nodes import Program
from ir.core.types import is_whole, leaves
from ir.errors import UserError
from ir.program_file import text_of
from ir.text.show import show
from rewrites.adjoint import program as backward
from rewrites.engine.refused import Refused

Written = Program | str | Path


def compile(
    program: Written,
    family: str | None = None,
    parameters: Mapping[str, int] | None = None,
    *,
    form: str | None = None,
    sizes: Mapping[str, int] | Sequence[str] = (),
    device: str | int | Device | None = None,
    max_memory: str | int | None = None,
    records: Records = None,
) -> Compiled:
    """Build one variant of a program for a device, and return it as a callable on arrays.

    >>> import numpy as np
    >>> double = compile("p(xs : [float]4) = map(x -> x + x, xs)")
    >>> double(np.arange(4, dtype=np.float32))
    array([0., 2., 4., 6.], dtype=float32)
    >>> double
    <compiled (xs): 32 B>

    It takes NumPy's arrays, and any that give one by `__array__` or DLPack, such as PyTorch's
    tensors on the host.

    Without a family it is the best variant that `records` know for the program on this device
    within `max_memory`, else one that was good for the nearest program, else the quickest by the
    cost model; nothing is measured. `records` is a file, None the user's own, False none.

    With a family, `parameters` that are left out get values that are legal on the device; if those
    given allow none, a UserError says why. `form` None is the first form of the family that
    applies, `device` None the best device here. `sizes`, such as {"C": 64} or ["C=64"], replace
    those that the program binds with `where`.
    """
    core, point = _with_sizes(program, sizes), dict(parameters or {})
    for name, value in point.items():
        demand_whole(f"parameter {name}", value)
    found = device_meant(device)
    if family is None:
        if point or form is not None:
            raise UserError("expected the name of a family beside parameters or a form, found none")
        limit = limits_of(max_memory, None).max_memory
        return best_known(core, found, limit, records)
    if max_memory is not None:
        raise UserError(
            f"max_memory chooses among families: expected no family beside it, found {family!r}"
        )
    limits = profile_of(found)
    concrete, _ = lowered_at(core, family, form, point, limits)
    made = generate_for(concrete, limits)
    demand_proofs(made)
    names = tuple(p.var.name for p in core.params)
    return Compiled(made.plan, session_of(found).build(made.plan), names)


def explore(
    program: Written,
    *,
    device: str | int | Device | None = None,
    profile: str | None = None,
    out: str | Path | None = None,
    records: Records = None,
    live: bool | int = False,
    **options: Unpack[Asked],
) -> Run:
    """Build, check and measure variants of a program, and return the run in which they are kept.

    >>> from pathlib import Path
    >>> run = explore(Path("examples/quickstart.lift"), variants=200)  # doctest: +SKIP
    >>> best = run.pick(max_memory="32MiB")                            # doctest: +SKIP

    A run is for a device that is here, or for the profile of one that is not. Further keywords are
    the fields of `Options`: plain values, or text as on the command line (`max_memory="64MiB"`).
    `records` is the file of records that the run begins from and adds to: None is the user's own,
    False is none. With `live` the report is served on this machine while the run goes on: on the
    port of that number, or on any that is free if it is True; its address is printed.
    """
    asked, source = Options.of(**options), source_of(program)
    name = source.program(asked).name
    target = target_of(device, profile, asked.limits)
    folder = new_folder(name) if out is None else _folder(out)
    run, _ = start(source, asked, target, folder, records, live=_port(live))
    return run


def adjoint(program: Written, parameter: str) -> Program:
    """The adjoint of a program in `parameter`: the program that takes a cotangent of the result and
    gives that of `parameter`. The program must be linear in it, up to a constant that is added."""
    return _derived(backward.adjoint, core_of(program), parameter)


def gradients(program: Written) -> dict[str, Program]:
    """The gradients of a program, by the names of its parameters of real numbers.

    Each is a program whose parameters are those of the given program that it needs and, last, a
    cotangent of the result; it gives the cotangent of the parameter.
    """
    core = core_of(program)
    real = [p.var.name for p in core.params if not any(map(is_whole, leaves(p.var.type)))]
    return {name: _derived(backward.gradient, core, name) for name in real}


def _derived(way: Callable[[Program, str], Program], core: Program, parameter: str) -> Program:
    try:
        return way(core, parameter)
    except Refused as refused:
        raise UserError(f"{core.name} has no derivative in {parameter}: {refused}") from refused


def source_of(program: Written) -> Source:
    """The source of a program: the text that it was made from, or, if it was not made from text,
    the text that prints it."""
    match program:
        case Program():
            return Source(show(program), program.name)
        case Path():
            return Source(text_of(program), str(program))
        case str():
            _refuse_path(program)
            return Source(program, "<program>")
        case _:
            found = type(program).__name__
            raise UserError(f"expected a program, its text or the path of its file, found {found}")


def _refuse_path(text: str) -> None:
    """Raise a UserError for the path of a file, where a program's text is expected."""
    if "=" not in text and "\n" not in text and (text.endswith(".lift") or "/" in text):
        raise UserError(f"expected a program's text, found a path: pass Path({text!r})")


def core_of(program: Written) -> Program:
    """The `Program` that a user means by a `Program`, by the text of one, or by the path of a file
    with the text."""
    return program if isinstance(program, Program) else source_of(program).program(Options())


def _with_sizes(program: Written, sizes: Mapping[str, int] | Sequence[str]) -> Program:
    """The `Program` that a user means, with these sizes in place of those of its `where`."""
    if not sizes:
        return core_of(program)
    return source_of(program).program(Options.of(sizes=sizes))


def _port(live: bool | int) -> int | None:
    if isinstance(live, bool):
        return 0 if live else None
    demand_whole("live", live, least=1, most=(1 << 16) - 1)
    return live


def _folder(out: object) -> Path:
    if not isinstance(out, str | Path) or not str(out):
        raise UserError(f"out: expected the path of a folder, found {out!r}")
    return Path(out)
