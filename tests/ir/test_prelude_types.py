"""Tests that each function of the prelude takes numbers of every type, or refuses them for a reason
that the language documents, and of which type its results are."""

import pytest

from ir.core.type_rules import type_of
from ir.core.types import SCALARS, only_scalar
from ir.errors import UserError
from ir.parse import parse, prelude

IMAGE, VOLUME = "split(2, split(2, xs))", "split(2, split(2, split(1, xs)))"  # of 16 numbers
KERNELS = "split(2, split(2, split(2, xs)))"  # of two rows of two channels
OF_ROWS = "(2, 0, 0, 1, split(2, split(2, xs)), split(2, xs))"
OF_PLANES = f"(2, 0, 0, 1, {KERNELS}, {IMAGE})"
OF_SPACES = f"(2, 0, 0, 1, split(2, {VOLUME}), {VOLUME})"
SAME, SUMMED, REAL, INDEX, WEIGHTED = "same", "summed", "real", "index", "weighted"
CALLS = {  # and the types of their results
    "relu": ("map(x -> relu(x), xs)", SAME),
    "square": ("map(x -> square(x), xs)", SUMMED),
    "leaky_relu": ("map(x -> leaky_relu(0.5, x), xs)", REAL),
    "clip": ("map(x -> clip(0, 6, x), xs)", SAME),
    "sum": ("sum(xs)", SUMMED),
    "maximum": ("maximum(xs)", SAME),
    "minimum": ("minimum(xs)", SAME),
    "average": ("average(xs)", SUMMED),
    "dot": ("dot(xs, xs)", SUMMED),
    "softmax": ("softmax(xs)", REAL),
    "argmax": ("argmax(xs)", INDEX),
    "argmin": ("argmin(xs)", INDEX),
    "map2d": ("map2d(relu, split(4, xs))", SAME),
    "zip2d": ("map2d((a, b) -> max(a, b), zip2d(split(4, xs), split(4, xs)))", SAME),
    "generate2d": ("generate2d(2, 2, (i, j) -> at(0, xs))", SAME),
    "slide2d": ("slide2d(2, 1, split(4, xs))", SAME),
    "pad2d": ("pad2d(1, 0, split(4, xs))", SAME),
    "pad2d_clamp": ("pad2d_clamp(1, split(4, xs))", SAME),
    "pad2d_mirror": ("pad2d_mirror(1, split(4, xs))", SAME),
    "pad2d_wrap": ("pad2d_wrap(1, split(4, xs))", SAME),
    "pool2d": (f"pool2d(sum, 2, 1, {IMAGE})", SUMMED),
    "maxpool2d": (f"maxpool2d(2, 1, {IMAGE})", SAME),
    "avgpool2d": (f"avgpool2d(2, 1, {IMAGE})", SUMMED),
    "dilate2d": ("dilate2d(2, split(4, xs))", SAME),
    "map3d": (f"map3d(relu, {IMAGE})", SAME),
    "zip3d": (f"map3d((a, b) -> max(a, b), zip3d({IMAGE}, {IMAGE}))", SAME),
    "slide3d": (f"slide3d(2, 1, {IMAGE})", SAME),
    "pad3d": (f"pad3d(1, 0, {IMAGE})", SAME),
    "reversed": ("reversed(xs)", SAME),
    "spread": ("spread(2, xs)", SAME),
    "phases": ("phases(2, xs)", SAME),
    "phases2d": ("phases2d((2, 2), split(4, xs))", SAME),
    "spread2d": ("spread2d((2, 2), split(4, xs))", SAME),
    "phases3d": (f"phases3d((2, 2, 2), {IMAGE})", SAME),
    "spread3d": (f"spread3d((2, 2, 2), {IMAGE})", SAME),
    "in_phases1d": ("in_phases1d(2, 0, 0, split(2, split(2, xs)), split(2, xs))", SUMMED),
    "in_phases2d": (f"in_phases2d(2, 0, 0, {KERNELS}, {IMAGE})", SUMMED),
    "in_phases3d": (f"in_phases3d(2, 0, 0, split(2, {VOLUME}), {VOLUME})", SUMMED),
    "conv_transpose1d": (f"conv_transpose1d{OF_ROWS}", SUMMED),
    "conv_transpose2d": (f"conv_transpose2d{OF_PLANES}", SUMMED),
    "conv_transpose3d": (f"conv_transpose3d{OF_SPACES}", SUMMED),
    "grouped1d": ("grouped1d((k, x) -> x, split(8, xs), split(2, xs))", SAME),
    "grouped2d": (f"grouped2d((k, x) -> x, split(8, xs), {IMAGE})", SAME),
    "grouped3d": (f"grouped3d((k, x) -> x, split(16, xs), {VOLUME})", SAME),
    "groups2d": (f"groups2d(2, {IMAGE})", SAME),
    "joined2d": (f"joined2d(groups2d(2, {IMAGE}))", SAME),
    "repeat": ("repeat(2, xs)", SAME),
    "repeat2d": ("repeat2d(2, split(4, xs))", SAME),
    "nearness": ("nearness(2)", WEIGHTED),
    "resize2d": (f"resize2d(2, {IMAGE})", WEIGHTED),
    "requantise_even": ("map(x -> requantise_even(x, 5, 0, 0), xs)", "long"),
    "requantise_up": ("map(x -> requantise_up(x, 5, 0), xs)", "long"),
    "requantise_twice": ("map(x -> requantise_twice(x, 5, 0), xs)", "int"),
}
REFUSED = {  # for what "Types and numbers" of docs/language.md says
    ("requantise_twice", t): "<< needs ints" for t in ("half", "bfloat", "float")
}


def result(kind: str, t: str) -> str:
    """The type of the results of a function of the given kind, of elements of type t."""
    whole = t not in ("half", "bfloat", "float")
    summed = ("long" if t == "long" else "int") if whole else t
    named = {SAME: t, SUMMED: summed, REAL: "float" if whole else t, INDEX: "int"}
    return {**named, WEIGHTED: "float"}.get(kind, kind)


def test_every_function_of_the_prelude_is_called_here() -> None:
    assert {*CALLS} == {*prelude()}


@pytest.mark.parametrize("t", SCALARS)
def test_functions_of_the_prelude_take_every_type_or_say_why_not(t: str) -> None:
    for name, (call, kind) in CALLS.items():
        text = f"f(xs : [{t}]16) = {call}"
        if (name, t) in REFUSED:
            with pytest.raises(UserError, match=REFUSED[name, t]):
                parse(text)
        else:
            found = only_scalar(type_of(parse(text).body))
            assert found is not None, name
            assert found.name == result(kind, t), name


def test_a_real_number_is_left_as_it_is_and_a_whole_one_becomes_a_float() -> None:
    for t in SCALARS:
        body = parse(f"f(x : {t}) = real(x)").body
        assert type_of(body) == SCALARS[result(REAL, t)]
        assert body == parse(f"f(x : {t}) = {'float(x)' if result(REAL, t) != t else 'x'}").body
