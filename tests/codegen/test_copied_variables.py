"""Tests of private variables whose value is only copied into another one."""

from dataclasses import replace

import pytest

from codegen.index.index import constant
from codegen.memory.copied_variables import without_copied_variables
from codegen.tree.kernel_values import Apply, Kind, Load, Number, Value
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Block, Declare, Kernel, Statement, Store

IMAGE = Memory("image", Space.GLOBAL, "float", 8)
CARRIED = Memory("x", Space.PRIVATE, "float", 4)
KEPT = Memory("y", Space.PRIVATE, "float", 8)
AT = constant(0)
SET = Store(CARRIED, AT, Load(IMAGE, AT, 4))
COPY = Store(KEPT, constant(4), Load(CARRIED, AT, 4))
NEGATED = Apply("neg", (Load(IMAGE, AT, 4),), Kind("float", 4))


def kernel(*body: Statement) -> Kernel:
    return Kernel("k", (IMAGE,), (IMAGE,), (), (1, 1, 1), (1, 1, 1), Block(body))


@pytest.mark.parametrize(("value", "to"), [(SET.value, KEPT), (NEGATED, KEPT), (SET.value, IMAGE)])
def test_a_variable_that_is_only_copied_goes(value: Value, to: Memory) -> None:
    inner = Block((Declare(CARRIED), replace(SET, value=value), replace(COPY, memory=to)))
    made = without_copied_variables(kernel(Declare(KEPT), inner))
    assert made.body == Block((Declare(KEPT), Block((Store(to, constant(4), value),))))


@pytest.mark.parametrize(
    "body",
    [
        (Declare(CARRIED), SET, COPY, COPY),
        (Declare(CARRIED), replace(SET, value=NEGATED), replace(COPY, memory=IMAGE)),
        (Declare(CARRIED), SET, Store(KEPT, AT, Number(1.0, "float")), COPY),
        (Declare(CARRIED), SET, replace(COPY, value=Load(CARRIED, AT, 2))),
        (Declare(CARRIED), SET, replace(COPY, value=replace(NEGATED, arguments=(COPY.value,)))),
    ],
    ids=[
        "used twice",
        "a value of its own, to an array",
        "another statement between",
        "a part",
        "not a copy",
    ],
)
def test_any_other_variable_stays(body: tuple[Statement, ...]) -> None:
    given = kernel(Declare(KEPT), *body)
    assert without_copied_variables(given) is given
