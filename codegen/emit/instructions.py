"""The emission of instructions: what each lane of a sub-group passes to one, and where its share of
the result goes."""

# key: e term, env what variables are bound to, i lane

from codegen.emit import materialise as making
from codegen.emit.bound_values import Env
from codegen.emit.private_shares import lanes
from codegen.emit.read_views import array, value
from codegen.emit.recursion import Recursion
from codegen.emit.write_places import Place, array_place, is_own, put, view_of
from codegen.index.index import Index
from codegen.tree.array_axes import number
from codegen.tree.statements import Call, Kind
from codegen.tree.value_builders import in_pieces
from ir.core.nodes import Instruct
from ir.core.type_rules import elem_of
from ir.core.types import Scalar, Vector


def carry_out(emitter: Recursion, e: Instruct, env: Env, to: Place) -> None:
    """Add statements by which each lane passes its elements of the operands to the instruction that
    e calls, and puts its share of the result at the place `to`.

    If `to` is guarded, or other work-items see it, the result is made in private memory first and
    then copied to `to`.
    """
    own = to if is_own(to) else making.private(emitter, e, emitter.wanted)
    operands = tuple(array(emitter.read(part, env)) for part in e.parts)
    kind = _kind(e)

    def lane(i: Index) -> None:
        given = tuple(in_pieces(value(operand.at(i))) for operand in operands)
        put(emitter.scope, array_place(own).at(i), Call(e.instruction, given, kind))

    emitter.scope.each("lane", lanes(emitter.scope, e.instruction), lane)
    if own is not to:
        emitter.copy(view_of(own), to)


def _kind(e: Instruct) -> Kind:
    """The type of the number or vector that each lane gets as the result of an instruction."""
    found = elem_of(e)
    if isinstance(found, Scalar):
        return Kind(found.name)
    assert isinstance(found, Vector)
    return Kind(found.scalar.name, number(found.width))
