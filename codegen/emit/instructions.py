"""The emission of instructions: what each lane of a sub-group passes to one, and where its share of
the result goes."""

# key: e term, env what variables are bound to, i lane

from collections.abc import Callable, Sequence
from dataclasses import replace

from codegen.emit import materialise as making
from codegen.emit.bound_values import Env
from codegen.emit.private_shares import lanes
from codegen.emit.read_views import View, array, value
from codegen.emit.recursion import Recursion
from codegen.emit.write_places import Place, array_place, is_own, put, view_of
from codegen.index.index import Index, as_index
from codegen.index.pieces import places_of_pieces
from codegen.tree.array_axes import bare, number
from codegen.tree.kernel_values import Call, Kind, Load, Value, Whole
from codegen.tree.memories import Space
from codegen.tree.value_builders import in_pieces
from ir.core.instruction import Instruct, Instruction
from ir.core.nodes import Expr
from ir.core.type_rules import elem_of
from ir.core.types import Scalar, Vector
from ir.errors import Unsupported


def carry_out(emitter: Recursion, e: Instruct, env: Env, to: Place) -> None:
    """Add statements by which each lane passes its elements of the operands to the instruction that
    e calls, and puts its share of the result at the place `to`.

    If `to` is guarded, or other work-items see it, the result is made in private memory first and
    then copied to `to`. Where products go on after a call, those that they are added to are made in
    the same place before, so that none has to be awaited between them.
    """
    own = to if is_own(to) else making.private(emitter, e, emitter.wanted)
    sums = e.parts[-1]
    if e.instruction.goes_on and isinstance(sums, Instruct):
        carry_out(emitter, sums, env, own)
        call = _called(emitter, e, env, view_of(own))
    else:
        call = _called(emitter, e, env)

    def lane(i: Index) -> None:
        put(emitter.scope, array_place(own).at(i), call(i))

    emitter.scope.each("lane", lanes(emitter.scope, e.instruction), lane)
    if own is not to:
        emitter.copy(view_of(own), to)


def _called(
    emitter: Recursion, e: Instruct, env: Env, sums: View | None = None
) -> Callable[[Index], Call]:
    """The function from a lane to the call of the instruction of e there. An operand that is loaded
    by an instruction of its own is a call inside the call; `sums` are the last operand, if they are
    made already."""
    parts = e.parts if sums is None else e.parts[:-1]
    operands = tuple(_operand(emitter, part, env) for part in parts)
    if sums is not None:
        operands = (*operands, _lanes_of(sums))
    kind = _kind(e)

    def call(i: Index) -> Call:
        given = tuple(operand(i) for operand in operands)
        if e.instruction.by_place and not all(map(_has_place, given)):
            raise Unsupported(
                f"expected rows that lie together in local memory for {e.instruction.name}, found "
                "others"
            )
        return Call(e.instruction, _with_places(e.instruction, given, i), kind)

    return call


def _with_places(instruction: Instruction, given: tuple[Value, ...], i: Index) -> tuple[Value, ...]:
    """The arguments of a call: what lane i gives, `given`, but of each operand that the instruction
    reads from local memory itself the first piece, and the distances between pieces."""
    digits = {placed.operand: placed.digits for placed in instruction.placed}
    found = list[Value]()
    for n, e in enumerate(given):
        found += _placed(instruction, e, digits[n], i) if n in digits else [e]
    return tuple(found)


def _placed(instruction: Instruction, e: Value, digits: Sequence[int], i: Index) -> list[Value]:
    """The first piece of an operand of which lane i holds the piece e, and the distances, in
    pieces, between those that differ by one in each digit of a lane's number."""
    if isinstance(e, Load) and _has_place(e):
        found = places_of_pieces(e.index, i, digits, e.width)
        if found is not None:
            first, apart = found
            return [replace(e, index=first), *(Whole(as_index(n)) for n in apart)]
    raise Unsupported(
        f"expected an operand of {instruction.name} in local memory, in pieces whose distances are "
        "the same everywhere, found another"
    )


def _operand(emitter: Recursion, e: Expr, env: Env) -> Callable[[Index], Value]:
    """The function from a lane to what it gives of the operand e."""
    if isinstance(e, Instruct) and e.instruction.by_place:
        return _called(emitter, e, env)
    return _lanes_of(emitter.read(e, env))


def _lanes_of(x: View) -> Callable[[Index], Value]:
    """The function from a lane to what it holds of the array x."""
    held = array(x)
    return lambda i: in_pieces(value(held.at(i)))


def _has_place(e: Value) -> bool:
    """True if e is a vector that is loaded from local memory at a multiple of its size."""
    if not isinstance(e, Load) or e.memory.space is not Space.LOCAL:
        return False
    parts = e.memory.elements if e.half is not None else 0
    index = bare(e.index)
    return all(n % e.width == 0 for n in (parts, index.constant, *(k for _, k in index.terms)))


def _kind(e: Instruct) -> Kind:
    """The type of the number or vector that each lane gets as the result of an instruction."""
    found = elem_of(e)
    if isinstance(found, Scalar):
        return Kind(found.name)
    assert isinstance(found, Vector)
    return Kind(found.scalar.name, number(found.width))
