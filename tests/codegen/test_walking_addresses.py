"""Tests of base addresses that walk: they take the values that sums of products have, in any nest
of loops, and do not walk where a loop might be left out or spelled apart."""

from itertools import product
from math import prod
from random import Random

import pytest

from codegen.compile import generate
from codegen.index.index import Index, constant, var
from codegen.index.substitute import evaluate
from codegen.opencl.walking_addresses import LoopPlace, Walk, walk
from constraints.devices import CPU
from explore.space.legal_point import lowered_at
from ir.parse import parse
from tests.support.byte_plans import prove_and_run

X = var("x", 0, 9)


def nest(*turns: int) -> dict[str, LoopPlace]:
    """The places of loops a, b, … with so many turns, each inside the one before."""
    names = "abcdefgh"
    around = [None, *names]
    return {names[d]: LoopPlace(around[d], n, True) for d, n in enumerate(turns)}


def counter(name: str, loops: dict[str, LoopPlace]) -> Index:
    return var(name, 0, loops[name].turns - 1)


def walked(w: Walk, loops: dict[str, LoopPlace], x: int) -> list[int]:
    """The values that the text gives a walking address in all turns of all loops, in order."""
    names, found = [*loops], list[int]()

    def run(depth: int, now: int) -> int:
        if depth == len(names):
            found.append(now)
            return now
        name = names[depth]
        for turn in range(loops[name].turns):
            outer[name] = turn
            if name == w.loop:
                now = evaluate(w.start, {"x": x, **outer}) if turn == 0 else now
            now = run(depth + 1, now) + w.steps.get(name, 0)
        return now

    outer: dict[str, int] = {}
    run(0, 0)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_walk_takes_the_values_of_its_sum(seed: int) -> None:
    random = Random(random_seed := Random().randrange(1 << 30) + seed)
    loops = nest(*(random.randint(2, 4) for _ in range(random.randint(1, 4))))
    strides = {name: random.randint(-9, 9) for name in loops}
    strides[[*loops][-1]] = random.choice((-7, 3, 16))
    at = X * 5
    for name, stride in strides.items():
        at = at + counter(name, loops) * stride
    made = walk("at", at, [*loops][-1], loops, frozenset())
    assert made is not None, random_seed
    x = random.randint(0, 9)
    expected = [
        5 * x + sum(strides[name] * turn for name, turn in zip(loops, turns, strict=True))
        for turns in product(*(range(place.turns) for place in loops.values()))
    ]
    assert walked(made, loops, x) == expected, random_seed
    assert len(expected) == prod(place.turns for place in loops.values())


def test_a_walk_begins_in_the_outermost_loop_that_it_changes_in() -> None:
    loops = nest(4, 3, 2)
    made = walk("at", counter("c", loops) + X, "c", loops, frozenset())
    assert made is not None
    assert (made.loop, made.start, made.steps) == ("c", X, {"c": 1})
    made = walk("at", counter("c", loops) * 5 + counter("a", loops) * 100, "c", loops, frozenset())
    assert made is not None
    assert (made.loop, made.start, made.steps) == ("a", constant(0), {"a": 100, "b": -10, "c": 5})


def test_a_walk_stays_inside_loops_that_are_tested_or_guarded() -> None:
    loops = nest(4, 3, 2)
    at = counter("a", loops) * 100 + counter("b", loops) * 10 + counter("c", loops)
    made = walk("at", at, "c", loops, frozenset("a"))
    assert made is not None
    assert (made.loop, made.steps) == ("b", {"b": 8, "c": 1})
    made = walk("at", at, "c", {**loops, "c": LoopPlace("b", 2, False)}, frozenset())
    assert made is not None
    assert (made.loop, made.steps) == ("c", {"c": 1})
    assert walk("at", at, "c", loops, frozenset("c")) is None


def test_what_is_no_sum_of_counters_or_no_int_does_not_walk() -> None:
    loops = nest(4, 6)
    halves = (counter("b", loops) + X) // 2
    assert walk("at", halves * 8, "b", loops, frozenset()) is None
    outer = (counter("a", loops) + X) // 2
    made = walk("at", outer * 8 + counter("b", loops), "b", loops, frozenset())
    assert made is not None
    assert (made.loop, made.start) == ("b", outer * 8)
    far = counter("b", loops) * 400_000_000
    assert far.hi is not None
    assert far.hi < 2**31 <= far.hi + 400_000_000
    assert walk("at", far, "b", loops, frozenset()) is None


LAYER = """conv(const weights : [[[[float]8]3]3]8, image : [[[float]8]W]5) =
  map2d(window -> map(kernel -> sum(map((x, w) -> x * w, zip(flatten(window), flatten(kernel)))),
                      weights),
        slide2d(3, 1, pad2d(1, 0.0, image)))
where W = 6
"""


@pytest.mark.parametrize(
    ("form", "k"), [("padded relaid items vector-loads", 2), ("relaid taps", 3), ("tall", 2)]
)
def test_kernels_whose_addresses_walk_are_proved_and_right(form: str, k: int) -> None:
    program = parse(LAYER)
    concrete, _ = lowered_at(program, "registers", form, {"k": k, "tr": 1, "tx": 2, "v": 4}, CPU)
    made = generate(concrete, byte_addresses=True).plan
    assert "_at" in made.source
    assert "+= " in made.source
    prove_and_run(program, made)
