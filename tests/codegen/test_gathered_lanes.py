"""Tests of stretches of memory that the turns of an unrolled loop gather lanes from: they are
loaded before the loop where that reads the same numbers."""

# key: s statement, e value

from collections.abc import Callable

import pytest

from codegen.index.condition import Condition, less
from codegen.index.index import Index, constant, var
from codegen.memory.gathered_lanes import with_stretches_loaded
from codegen.tree.kernel_values import Broadcast, Build, Kind, Load, Number, Select, Value, loads
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Block, For, Kernel, Store, Unroll, statements

IMAGE = Memory("image_", Space.GLOBAL, "float", 64)
SHORT = Memory("short_", Space.GLOBAL, "float", 60)
OUT = Memory("out_", Space.GLOBAL, "float", 64)
X = Memory("x_", Space.PRIVATE, "float", 8)
TURN = var("i", 0, 3)
GROUP = var("grp0", 0, 3)
ZEROS = Broadcast(Number(0.0, "float"), Kind("float", 8))


def lanes(at: Callable[[int], Index], memory: Memory = IMAGE) -> Build:
    """A vector of eight lanes, of which lane l is the number at at(l) of a memory."""
    return Build(tuple(Load(memory, at(lane)) for lane in range(8)), Kind("float", 8))


def groups(lane: int) -> Index:
    """The place of the number of a turn in the group of a lane; groups have four."""
    return GROUP * 16 + TURN + lane // 4 * 4


def kernel(value: Value, unroll: Unroll = Unroll.YES) -> Kernel:
    """A kernel whose loop of four turns stores this value."""
    loop = For("i", 4, Block((Store(X, constant(0), value),)), unroll)
    return Kernel("k", (IMAGE, SHORT), (OUT,), (), (1, 1, 1), (4, 1, 1), Block((loop,)))


def from_memory(k: Kernel) -> list[tuple[str, int]]:
    """The loads from global memory: where, and how many numbers."""
    stores = (s for s in statements(k.body) if isinstance(s, Store))
    every = [load for s in stores for load in loads(s.value)]
    return [(e.index.key, e.width) for e in every if e.memory.space is Space.GLOBAL]


def test_a_stretch_is_loaded_once_before_the_loop() -> None:
    made = with_stretches_loaded(kernel(lanes(groups)))
    assert from_memory(made) == [((GROUP * 16).key, 8)]
    *before, loop = made.body.statements
    assert isinstance(loop, For)
    assert len(before) == 2
    (store,) = loop.body.statements
    assert isinstance(store, Store)
    assert isinstance(store.value, Build)
    read = [load.index for load in loads(store.value)]
    assert read == [TURN + lane // 4 * 4 for lane in range(8)]


def test_a_stretch_that_is_read_where_a_condition_holds_is_loaded_where_it_holds() -> None:
    made = with_stretches_loaded(kernel(Select(less(GROUP, 2), lanes(groups), ZEROS)))
    assert from_memory(made) == [((GROUP * 16).key, 8)]


def test_lanes_that_begin_inside_an_aligned_stretch_are_of_all_of_it() -> None:
    made = with_stretches_loaded(kernel(lanes(lambda lane: GROUP * 16 + TURN * 2 + lane % 2 + 8)))
    assert from_memory(made) == [((GROUP * 16 + 8).key, 8)]


def where(condition: Condition) -> Value:
    return Select(condition, lanes(groups), ZEROS)


@pytest.mark.parametrize(
    "k",
    [
        kernel(lanes(groups), unroll=Unroll.NO),
        kernel(lanes(lambda lane: GROUP * 16 + lane // 4 * 4)),  # the same in all turns
        kernel(lanes(lambda lane: GROUP * 16 - TURN + lane // 4 * 4 + 3)),  # backwards
        kernel(lanes(lambda lane: GROUP * 12 + TURN + lane // 4 * 4)),  # not aligned
        kernel(lanes(lambda lane: GROUP * 16 + TURN + lane * 8)),  # far apart
        kernel(lanes(lambda lane: GROUP * 16 + TURN + lane // 4 * 12)),  # too few of a stretch
        kernel(lanes(lambda lane: GROUP * lane + TURN)),
        kernel(lanes(groups, SHORT)),  # no multiple of eight: the last stretch would not end inside
        kernel(where(less(TURN, 2))),
        kernel(lanes(groups, OUT)),  # which others may write to
    ],
)
def test_other_vectors_stay_as_they_are(k: Kernel) -> None:
    assert with_stretches_loaded(k) is k
