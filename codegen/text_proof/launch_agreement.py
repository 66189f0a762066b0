"""The check that a kernel's text fits its launch in the plan: the name, the work-group, the
arguments, and which of these the text writes."""

from collections.abc import Iterator, Mapping
from math import prod

from codegen.plan import Buffer, Kernel, Role
from codegen.proof.races_and_bounds import RANGES
from codegen.proof.verdicts import Kind, Obligation, Proved, Refuted, Verdict
from codegen.text_reader.c_syntax import KernelText, Parameter
from codegen.text_reader.c_words import SIZES, STORED_AS

Buffers = Mapping[str, Buffer]


def agreement(text: KernelText, launch: Kernel, buffers: Buffers) -> list[Verdict]:
    """The verdicts on a text's agreement with its launch. Single arguments are judged only if the
    text has as many parameters as the launch has arguments, and all of these are in `buffers`."""
    found = [*_geometry(text, launch)]
    count = len(text.parameters) == len(launch.arguments)
    found.append(_holds(count, "arguments", len(text.parameters), len(launch.arguments)))
    unknown = [name for name in launch.arguments if name not in buffers]
    found.append(_holds(not unknown, "buffers of the plan", unknown, "none that it lacks"))
    if count and not unknown:
        for p, name in zip(text.parameters, launch.arguments, strict=True):
            found += _argument(p, buffers[name], launch.prepack)
        found += _apart(text, launch, buffers)
    return found


def _geometry(text: KernelText, launch: Kernel) -> Iterator[Verdict]:
    for instruction in (i for i in text.instructions if i.lanes > 1):
        lanes = (text.sub_group, launch.local_size[0])
        expected = (instruction.lanes // instruction.sub_groups, instruction.lanes)
        what = f"sub-group and dimension 0 for {instruction.name}"
        yield _holds(lanes == expected, what, lanes, expected)
    whole = all(
        n > 0 and size > 0 and n % size == 0
        for n, size in zip(launch.global_size, launch.local_size, strict=True)
    )
    yield _holds(text.name == launch.name, "name", text.name, launch.name)
    same = text.group_size == launch.local_size
    yield _holds(same, "reqd_work_group_size", text.group_size, launch.local_size)
    yield _holds(whole, "whole work-groups", launch.global_size, f"of {launch.local_size}")


WRITTEN = {False: (Role.TEMPORARY, Role.OUTPUT), True: (Role.PACKED,)}


def _argument(p: Parameter, buffer: Buffer, prepack: bool) -> Iterator[Verdict]:
    expected = STORED_AS.get(buffer.scalar, buffer.scalar)
    yield _holds(p.scalar == expected, f"scalars of {p.name}", p.scalar, expected)
    size = prod(buffer.shape) * SIZES[expected]
    yield _holds(size == buffer.bytes, f"bytes of {buffer.name}", buffer.bytes, size)
    if not p.const:
        may = buffer.role in WRITTEN[prepack]
        roles = " or ".join(role.value for role in WRITTEN[prepack])
        yield _holds(may, f"role of {p.name}, which is written", buffer.role.value, roles)


def _apart(text: KernelText, launch: Kernel, buffers: Buffers) -> Iterator[Verdict]:
    """The verdicts that the bytes of each argument that is written are in no other argument, as
    `restrict` promises."""
    arguments = [buffers[name] for name in launch.arguments]
    for p, own in zip(text.parameters, arguments, strict=True):
        sharers = [b.name for b in arguments if b is not own and share(b, own)]
        sharers += [own.name] * (arguments.count(own) - 1)
        if not p.const:
            yield _holds(not sharers, f"other names for {p.name}", sharers, "none")


def share(a: Buffer, b: Buffer) -> bool:
    """True if two buffers have bytes of the arena in common."""
    if a.offset is None or b.offset is None:
        return False
    return a.offset < b.offset + b.bytes and b.offset < a.offset + a.bytes


def _holds(fine: bool, what: str, found: object, expected: object) -> Verdict:
    obligation = Obligation(Kind.LAUNCH, "", what)
    if fine:
        return Proved(obligation, RANGES)
    return Refuted(obligation, f"found {found}, expected {expected}")
