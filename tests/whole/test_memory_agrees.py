"""Tests that the memory inferred is the memory that the code takes, for points of families and for
random programs of many kernels."""

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.memory_agrees import local_differences, samples
from codegen.compile import generate
from constraints.devices import CPU
from constraints.infer.infer import infer
from constraints.quantities.quantities import local_at, memory_at, quantities
from constraints.relations.relations import holds
from explore.building.promise_check import disagreements
from explore.space.lowering import bound, lowering
from ir.parse import parse
from tests.support.quick_builds import quick_builds as quick_builds

MATRIX = """
mm(a : [[float]1]16, b : [[float]1]7) = reduce(0.0, (s1, u1) -> s1 + u1, join(map(r0 ->
  map(c0 -> reduce(0.0, (s, (u, v)) -> s + u * v, zip(r0, c0)), b), a)))
"""
POINTS = 24  # benchmarks/memory_agrees.py takes thousands
STRASSEN = {"k": 1, "tr": 2, "tx": 8, "v": 4, "vi": 2, "vo": 4}


@pytest.mark.parametrize("layer", ["small", "product"])
def test_sampled_points_of_all_families_take_what_was_inferred(layer: str) -> None:
    found = list(islice(samples([layer], CPU, seed=1), POINTS))
    assert len(found) == POINTS
    assert [s for s in found if s.differences(CPU.group_items)] == []


@pytest.mark.parametrize("short", [0, 1])
def test_allowed_memory_is_what_three_kernels_take(short: int) -> None:
    low = lowering(parse(MATRIX), "strassen", "once registers")
    taken = generate(bound(low.program, STRASSEN)).plan.memory_bytes
    assert memory_at(quantities(low.program), STRASSEN) == taken
    system = infer(low.program, CPU, max_memory=taken - short)
    broken = [c.why for c in system.constraints if not holds(c.relation, STRASSEN)]
    assert broken == short * [f"the allowed global memory {taken - 1} B"]


@st.composite
def chains_of_stores(draw: st.DrawFn) -> str:
    """A strategy for the texts of programs that store arrays of different lengths, some of pairs,
    where each array is made of earlier ones."""
    lines, made = [], [("xs", False)]
    for k in range(draw(st.integers(1, 9))):
        reads = draw(st.lists(st.sampled_from(made), min_size=1, max_size=2))
        pair, length = draw(st.booleans()), draw(st.integers(1, 400))
        total = " + ".join(["x", *(_sum(*read) for read in reads)])
        element = f"(x, {total})" if pair else total
        array = f"mapGlobal(0)(x -> {element}, generate({length}, i -> 1.0))"
        lines.append(f"  let t{k} = store({array})")
        made.append((f"t{k}", pair))
    result = f"  mapGlobal(0)(x -> x + {_sum(*made[-1])}, xs)"
    return "\n".join(["f(xs : [float]8) =", *lines, result])


def _sum(array: str, pair: bool) -> str:
    add = "(s, (a, b)) -> s + a + b" if pair else "(s, a) -> s + a"
    return f"reduceSeq(0.0, {add}, {array})"


@given(chains_of_stores())
@settings(max_examples=60)
def test_random_kernels_take_what_was_inferred(text: str) -> None:
    program = parse(text)
    assert list(disagreements(quantities(program), {}, generate(program))) == []


@st.composite
def tiles(draw: st.DrawFn) -> str:
    """A strategy for the texts of kernels with tiles of floats or ints in local memory, each made
    of an earlier tile or of none. The result depends on all tiles: others are not made."""
    lines: dict[str, str] = {}
    reads: dict[str, str] = {}
    made: dict[str, list[str]] = {"0.0": ["row"], "0": []}
    for k in range(draw(st.integers(1, 14))):
        zero = draw(st.sampled_from(sorted(made)))
        reads[f"t{k}"] = read = draw(st.sampled_from(["", *made[zero][-6:]]))
        element = _all_of(zero, read) if read else zero
        if draw(st.booleans()):
            element = _in_loop(element, zero, k)
        array = f"generate({draw(st.sampled_from([8, 16, 24, 40]))}, i -> i)"
        lines[f"t{k}"] = f"  let t{k} = toLocal(mapLocal(0)(i -> {element}, {array}))"
        made[zero].append(f"t{k}")
    results = draw(st.lists(st.sampled_from(made["0.0"]), min_size=1, max_size=3))
    needed = set(results)
    for name in reversed(lines):
        needed |= {reads[name]} if name in needed else set()
    result = " + ".join(_all_of("0.0", name) for name in results)
    kept = [line for name, line in lines.items() if name in needed]
    body = "\n".join([*kept, f"  mapLocal(0)(x -> x + {result}, row)"])
    return f"f(xs : [float]16) = join(mapWorkgroup(0)(row ->\n{body}, split(8, xs)))"


def _all_of(zero: str, array: str) -> str:
    return f"reduceSeq({zero}, (s, y) -> s + y, {array})"


def _in_loop(element: str, zero: str, k: int) -> str:
    return f"reduceSeq({zero}, (s{k}, n) -> s{k} + {element}, generate(3, n -> {zero}))"


@given(tiles())
@settings(max_examples=100)
def test_random_tiles_take_what_was_inferred_byte_for_byte(text: str) -> None:
    program = parse(text)
    made, known = generate(program), quantities(program)
    assert list(disagreements(known, {}, made)) == []
    assert list(local_differences(known, {}, made.plan)) == []


def test_what_is_lost_between_local_arrays_is_counted() -> None:
    text = """
        f(xs : [float]16) = join(mapWorkgroup(0)(row ->
          let a = toLocal(mapLocal(0)(x -> x, row))
          let b = toLocal(mapLocal(0)(i -> i, generate(3, i -> i)))
          mapLocal(0)(x -> x + reduceSeq(0.0, (s, y) -> s + y, a) + at(0, b), row), split(8, xs)))
        """
    (k,) = quantities(parse(text)).kernels
    assert local_at(k, {}) == 64 + 64 != 8 * 4 + 3 * 4
