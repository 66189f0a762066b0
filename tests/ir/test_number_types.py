"""Tests of number types: which type an operation on two of them has, how they are written and
shown, and what is computed with them."""

from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16

from ir.array_files import load, save
from ir.build import bfloat_, char_, char_sat_rte, float_, fun, map_
from ir.core.conversions import CONVERSIONS
from ir.core.nodes import Lit, Pad
from ir.core.type_rules import type_of
from ir.core.types import CHAR, RANGES, SCALARS, UCHAR, is_whole, show_type
from ir.errors import UserError
from ir.meaning.conversions import CHUNK, converted
from ir.meaning.inputs import STORED, check_inputs, random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from ir.text.show import show

WHOLE = [name for name, scalar in SCALARS.items() if is_whole(scalar)]
REAL = [name for name in SCALARS if name not in WHOLE]


def type_shown(e: str, params: str) -> str:
    return show_type(type_of(parse(f"f({params}) = {e}").body))


@pytest.mark.parametrize("a", SCALARS)
@pytest.mark.parametrize("b", SCALARS)
def test_two_numbers_meet_as_the_type_that_holds_both(a: str, b: str) -> None:
    if {a, b} == {"half", "bfloat"}:
        with pytest.raises(UserError, match=r"of one type, found .*convert one, as in float"):
            type_shown("x + y", f"x : {a}, y : {b}")
        return
    reals = [t for t in (a, b) if t in REAL]
    whole = "long" if "long" in (a, b) else "int"
    expected = whole if not reals else "float" if "float" in reals else reals[0]
    assert type_shown("x + y", f"x : {a}, y : {b}") == expected
    assert type_shown("max(x, y)", f"x : {a}, y : {b}") == (a if a == b else expected)


@pytest.mark.parametrize("t", WHOLE)
def test_arithmetic_on_whole_numbers_is_on_ints_or_longs(t: str) -> None:
    wide = "long" if t == "long" else "int"
    for e in ("x * x", "-x", "abs(x)", "x / 3", "x % 3"):
        assert type_shown(e, f"x : {t}") == wide
    xs = np.asarray([*RANGES[t], 0, 1], STORED[t])
    squares = evaluate(parse(f"f(xs : [{t}]4) = map(x -> x * x + -x, xs)"), {"xs": xs})
    ys = xs.astype(np.int64)
    assert np.array_equal(squares, (ys * ys - ys).astype(STORED[wide]))
    total = evaluate(parse(f"f(xs : [{t}]4) = sum(xs)"), {"xs": xs})
    assert int(np.asarray(total)) == int(ys.sum().astype(STORED[wide]))


def test_sums_of_bytes_are_ints_however_many_there_are() -> None:
    xs = np.full(1000, 127, np.int8)
    program = parse("f(xs : [char]1000) = (sum(xs), reduce(0, (a, x) -> a + x * x, xs))")
    total, squares = evaluate(program, {"xs": xs})
    assert (int(np.asarray(total)), int(np.asarray(squares))) == (127000, 127 * 127 * 1000)


def test_the_largest_byte_is_a_byte() -> None:
    program = parse("f(xs : [uchar]5) = reduce(0uc, (a, x) -> max(a, x), xs)")
    assert type_of(program.body) == UCHAR
    found = np.asarray(evaluate(program, {"xs": np.asarray([3, 250, 7, 0, 9], np.uint8)}))
    assert found.dtype == np.uint8
    assert int(found) == 250


@pytest.mark.parametrize("name", SCALARS)
def test_numbers_with_suffixes_and_conversions_are_shown_as_they_are_read(name: str) -> None:
    suffix = {"long": "L", "short": "s", "ushort": "us", "char": "c", "uchar": "uc"}.get(
        name, name[0]
    )
    program = parse(f"f(x : {name}) = (7{suffix}, max(x, 7{suffix}), {name}(2.5), [x, 1])")
    assert type_shown(f"7{suffix}", "") == name
    assert parse(show(program)) == program


@pytest.mark.parametrize("op", CONVERSIONS)
def test_every_conversion_can_be_written_of_every_type_and_of_vectors(op: str) -> None:
    target = CONVERSIONS[op].target.name
    for t in SCALARS:
        assert type_shown(f"{op}(x)", f"x : {t}") == target
        vectors = f"asScalar(map(vectorized x -> {op}(x), asVector(4, xs)))"
        assert type_shown(vectors, f"xs : [{t}]8") == f"[{target}]8"


def test_a_written_number_becomes_what_it_fills() -> None:
    padded = parse("f(xs : [char]4) = pad(1, 1, 0, xs)").body
    assert isinstance(padded, Pad)
    assert padded.value == Lit(0, CHAR)
    with pytest.raises(UserError, match="int cannot fill an array of char"):
        parse("f(xs : [char]4) = pad(1, 1, 128, xs)")


@pytest.mark.parametrize(("text", "words"), [("128c", "128 is no char"), ("256uc", "256 is no")])
def test_a_number_beyond_its_type_is_refused(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        parse(f"f() = {text}")


def test_inputs_beyond_their_type_are_refused() -> None:
    program = parse("f(xs : [uchar]2) = xs")
    with pytest.raises(UserError, match="holds -1, expected numbers from 0 to 255"):
        check_inputs(program, {"xs": np.asarray([-1, 0])})


@pytest.mark.parametrize("name", SCALARS)
def test_random_inputs_are_of_the_type_that_a_device_stores(name: str) -> None:
    program = parse(f"f(xs : [{name}]99) = xs")
    for integers in (True, False):
        xs = np.asarray(random_inputs(program, 1, integers)["xs"])
        assert xs.dtype == STORED[name]
        assert len(np.unique(xs.astype(np.float64))) > 3


def test_files_of_bfloats_are_read_as_bfloats(tmp_path: Path) -> None:
    xs = np.asarray([1.5, -2, np.inf], np.float32).astype(bfloat16)
    for data in (xs, (xs, np.asarray([1, 2], np.int8))):
        save(tmp_path / "xs", data)
        back = load(tmp_path / "xs")
        parts = back if isinstance(back, tuple) else (back,)
        assert np.asarray(parts[0]).dtype == bfloat16
        assert np.array_equal(np.asarray(parts[0]).astype(np.float32), xs.astype(np.float32))


def test_python_programs_convert_as_text_does() -> None:
    made = fun(
        lambda xs: map_(lambda x: (char_sat_rte(x), bfloat_(x), char_(x)), xs), float_[8], name="f"
    )
    text = "f(xs : [float]8) = map(x -> (char_sat_rte(x), bfloat(x), char(x)), xs)"
    assert made == parse(text)


@pytest.mark.parametrize("op", ["half", "bfloat_rtz", "char_sat_rte", "uchar", "float"])
@pytest.mark.parametrize("kind", [np.float64, np.int8, np.int64])
def test_many_numbers_are_converted_as_few_are_however_they_lie(op: str, kind: type) -> None:
    """Windows share numbers in memory, and broadcast arrays repeat them."""
    numbers: np.ndarray = (1e3 * np.random.default_rng(1).normal(size=(60, 50, 20))).astype(kind)
    lying = {
        "as an array": numbers,
        "transposed": numbers.transpose(2, 0, 1),
        "backwards": numbers[::-1],
        "with gaps": numbers[:, ::2],
        "in windows": np.lib.stride_tricks.sliding_window_view(numbers, (3, 3), (0, 1)),
        "repeated": np.broadcast_to(numbers[:, None], (60, 7, 50, 20)),
    }
    to, real = CONVERSIONS[op], np.dtype(np.float64)
    for how, x in lying.items():
        assert x.size > CHUNK, how
        by_itself = [converted(part, to, real) for part in np.array_split(x.ravel(), x.size // 999)]
        made = converted(x, to, real)
        assert made.shape == x.shape, how
        assert made.dtype == by_itself[0].dtype
        assert np.array_equal(made.ravel(), np.concatenate(by_itself)), how
