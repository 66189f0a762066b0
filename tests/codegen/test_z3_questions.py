"""Tests that Z3 answers questions as brute force does, and that only assumptions that hold are
trusted."""

import itertools
import random
from collections.abc import Mapping

import pytest

from codegen.index.condition import at_least, both, holds, less
from codegen.index.index import Index, assume, constant, maximum, minimum, var
from codegen.index.substitute import evaluate
from codegen.proof.z3_questions import Found, GaveUp, Impossible, Question, ask, satisfies

RANGES = {"x": (0, 5), "y": (-3, 3), "z": (0, 9)}
VARIABLES = {name: var(name, *r) for name, r in RANGES.items()}
POINTS = [
    dict(zip(RANGES, point, strict=True))
    for point in itertools.product(*(range(lo, hi + 1) for lo, hi in RANGES.values()))
]
LIMIT_MS = 1000


def drawn(g: random.Random) -> Index:
    x = sum((v * g.randint(-3, 3) for v in VARIABLES.values()), constant(g.randint(-6, 6)))
    match g.randrange(5):
        case 0:
            return x // g.randint(2, 4) + VARIABLES["y"]
        case 1:
            return x % g.randint(2, 5) - g.randint(0, 2)
        case 2:
            return minimum(x, VARIABLES["z"] - 2)
        case 3:
            return maximum(x, VARIABLES["y"]) - 3
    return x


def question(g: random.Random) -> Question:
    some = [drawn(g) for _ in range(6)]
    return Question(
        zero=some[:1] if g.random() < 0.5 else [],
        given=some[1 : g.randint(1, 3)],
        denied=[both(less(some[3], some[4]), at_least(some[5], 0))] if g.random() < 0.5 else [],
        differences=[some[3] - some[5], some[4]] if g.random() < 0.5 else [],
    )


def answers(q: Question, point: Mapping[str, int]) -> bool:
    return (
        all(evaluate(x, point) == 0 for x in q.zero)
        and all(evaluate(x, point) >= 0 for x in q.given)
        and all(not holds(condition, point) for condition in q.denied)
        and (not q.differences or any(evaluate(x, point) != 0 for x in q.differences))
    )


@pytest.mark.parametrize("seed", range(120))
def test_an_answer_is_values_that_answer_or_there_are_none(seed: int) -> None:
    q = question(random.Random(seed))
    answering = [point for point in POINTS if answers(q, point)]
    answer, taken = ask(q, LIMIT_MS)
    assert taken > 0
    match answer:
        case Found(values):
            assert answers(q, {**POINTS[0], **values})
        case _:
            assert answer == Impossible()
            assert not answering
    assert all(satisfies(q, point) == (point in answering) for point in POINTS)


def test_an_assumption_is_trusted_in_what_is_given_and_not_in_what_is_denied() -> None:
    """The assumption of an index (z ≤ 3) is taken to hold if the index is inside a guard that is
    given; inside a guard that is denied it may fail, so that z > 3 is found as an answer."""
    z = VARIABLES["z"]
    known = assume(z, 0, 3)
    assert ask(Question(given=[known - 2, z - 4]), LIMIT_MS)[0] == Impossible()
    answer, _ = ask(Question(given=[z - 5], denied=[less(known, 3)]), LIMIT_MS)
    assert isinstance(answer, Found)
    assert answer.values["z"] >= 5
    assert ask(Question(given=[2 - z], denied=[less(known, 3)]), LIMIT_MS)[0] == Impossible()


def test_a_question_that_takes_too_long_is_given_up() -> None:
    u, v, w = (var(name, 0, 10**6) for name in "uvw")
    cubes = u * u * u + v * v * v - w * w * w
    assert isinstance(ask(Question(zero=[cubes], given=[u - 2, v - 2]), 1)[0], GaveUp)
