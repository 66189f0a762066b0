"""Tests that sums of whole numbers are proved not to overflow, or refused: exactly at the border,
and by ranges that hold."""

from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

from codegen.__main__ import main as compile_main
from constraints.__main__ import main
from constraints.infer.collected_numbers import WholeSum
from constraints.infer.number_ranges import range_of, whole_sums
from constraints.infer.overflow import no_overflow
from constraints.relations.relations import holds
from explore.space.lowering import lowering
from ir.core.types import RANGES
from ir.meaning.inputs import STORED
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.families.all_families import FAMILIES
from tests.support.agreement import example

BYTES = "f(xs : [uchar]{n}, ws : [char]{n}) = {body}"
SUM = "reduce(0, (acc, (x, w)) -> acc + x * w, zip(xs, ws))"
BORDER = 2**31 // (255 * 128)  # terms that surely fit: 255 * 128 * K < 2^31


def proved(text: str) -> bool:
    """True if all constraints on the sums of a program (a text) hold; fails if there are none."""
    found = no_overflow(parse(text).body)
    assert found
    return all(holds(c.relation, {}) for c in found)


def only_sum(text: str) -> WholeSum:
    (found,) = whole_sums(parse(text).body)
    return found


NESTED = """reduce(0, (acc, (xs, ws)) -> reduce(acc, (a, (x, w)) -> a + x * w, zip(xs, ws)),
  zip(split(K, xs), split(K, ws)))"""


def test_the_longest_sum_of_products_of_bytes_is_found_exactly() -> None:
    assert proved(BYTES.format(n=BORDER, body=SUM))
    assert not proved(BYTES.format(n=BORDER + 1, body=SUM))


def test_terms_of_nested_sums_are_counted() -> None:
    for n, fits in ((BORDER, True), (BORDER + 1, False)):
        k = next(k for k in range(2, n + 1) if n % k == 0)
        text = BYTES.format(n=n, body=NESTED.replace("K", str(k)))
        assert only_sum(text).terms.count == n
        assert proved(text) == fits


LOWERED = "mapGlobal(0, p -> {}, split(N, zip(xs, ws)))"


@pytest.mark.parametrize(
    "loop",
    [
        "reduceSeq(0, (acc, (x, w)) -> acc + x * w, p)",
        "reduceSeq(0, (a, q) -> reduceSeq(a, (acc, (x, w)) -> acc + x * w, q), split(K, p))",
    ],
)
def test_sums_of_programs_that_are_lowered_by_hand_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], loop: str
) -> None:
    """The longest sum that fits is compiled, and one of a term more refused."""
    for n, fits in ((BORDER, True), (BORDER + 1, False)):
        k = next(k for k in range(2, n + 1) if n % k == 0)
        body = LOWERED.format(loop).replace("N", str(n)).replace("K", str(k))
        file = tmp_path / "sum.lift"
        file.write_text(BYTES.format(n=n, body=body))
        for command in (main, compile_main):
            assert command([str(file)]) == (0 if fits else 1)
        assert ("expected a sum that an int holds" in capsys.readouterr().err) != fits


@pytest.mark.parametrize(
    "body",
    [
        "reduce((0, 0), (a, (x, w)) -> (a.0 + x * w, a.1 + x), zip(xs, ws))",
        "reduce((0, 0), ((a, b), (x, w)) -> (a + x, b + x * w), zip(xs, ws))",
        "reduce((0, 0), (a, (x, w)) -> (let y = x * w\n  (a.0 + y, a.1 - y)), zip(xs, ws))",
        "reduce([0, 0], (a, (x, w)) -> map((p, q) -> p + q * w, zip(a, [x, x])), zip(xs, ws))",
        "reduce((0, 0), (a, (x, w)) -> (x * w + a.0, a.1 - x), zip(xs, ws))",
        "reduce([0, 0], (a, (x, w)) -> map((q, p) -> q * w + p, zip([x, x], a)), zip(xs, ws))",
        "reduce(0, (a, (x, w)) -> a + x * abs(w), zip(xs, ws))",
        "reduce(0, (a, (x, w)) -> a - x * w, zip(xs, ws))",
        "reduce(0, (a, (x, w)) -> x * w + a, zip(xs, ws))",
        "reduce(0, (a, (x, w)) -> (let! y = a + x * w\n  y), zip(xs, ws))",
        "reduce(0, (a, (x, w)) -> select(w > 9, a - 3, a + x * w), zip(xs, ws))",
        "reduce(0, (a, (x, w)) -> max(a - 3, a + x * w), zip(xs, ws))",
        "reduce(0, (a, (x, w)) -> int(a + x * w), zip(xs, ws))",
        "reduceSeq(0, (a, y) -> y + a, toPrivate(mapSeq((x, w) -> x * w, zip(xs, ws))))",
    ],
)
def test_sums_are_found_however_they_are_written(body: str) -> None:
    assert proved(BYTES.format(n=BORDER, body=body))
    assert not proved(BYTES.format(n=BORDER + 1, body=body))


@pytest.mark.parametrize(
    "body",
    [
        "reduce(0, (a, r) -> reduce(a, (a, x) -> a + x, r), m)",  # names that mean another thing
        "reduce(0, (a, r) -> (let a = reduce(a, (s, x) -> s + x, r)\n  a), m)",
        "reduce([0, 0], (a, r) -> map((a, y) -> a + y, zip(a, [SUM, 1])), m)",
        "reduce([0, 0], (a, r) -> map(b -> b + SUM, a), m)",
        "reduce((0, 0), (a, r) -> reduce(a, (b, x) -> (b.0 + x, b.1 - x), r), m)",
        "reduce(([0, 0], 0), (t, r) -> (map(b -> b + SUM, t.0), t.1), m)",
        "reduce([(0, 0)], (a, r) -> map((b, c) -> (b, c + SUM), a), m)",
    ],
)
def test_sums_of_sums_are_found_however_they_are_written(body: str) -> None:
    rows = 2**31 // (65535 * 7)
    body = body.replace("SUM", "reduce(0, (s, x) -> s + x, r)")
    assert proved(f"f(m : [[ushort]7]{rows}) = {body}")
    assert not proved(f"f(m : [[ushort]7]{rows + 1}) = {body}")


@pytest.mark.parametrize("n", [33025, 33026])
def test_sums_by_an_instruction_are_proved(n: int) -> None:
    """Four products of unsigned bytes at a time; 33025 · 255² < 2³¹ ≤ 33026 · 255²."""
    for step in ("dot_uu(x, x, s)", "s + dot_uu(x, x, 0)"):
        sums = f"reduceSeq(0, (s, x) -> {step}, asVector(4, r))"
        text = f"f(a : [[uchar]{4 * (-(-n // 4))}]8) = map(r -> {sums}, a)"
        assert not proved(text)
        assert proved(text.replace(str(4 * (-(-n // 4))), str(4 * (n // 4) - 4)))
    assert proved(f"f(xs : [uchar]{n}) = reduce(0, (a, x) -> x * x + a, xs)") == (n == 33025)


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ("acc - x", True),
        ("acc - max(x, 3us)", True),
        ("acc + x * x", False),
        ("acc + x * x + 1", False),
        ("acc + x * x * 1L", False),
        ("acc + long(x * x)", False),
        ("acc + max(x * x, 0)", False),
        ("acc + select(x > 3, x * x, 0)", False),
        ("acc + (x * x) / 4", False),
        ("acc + (x * x - x * x)", False),  # ranges do not know that both are the same
        ("acc + long(x) * x", True),
        ("acc + ((x * 30000) >> 33)", True),  # by one place: ints are shifted modulo 32
    ],
)
def test_what_a_long_adds_up_fits_the_types_it_is_made_in(body: str, fits: bool) -> None:
    assert proved(f"f(xs : [ushort]9) = reduce(0L, (acc, x) -> {body}, xs)") == fits


def test_places_of_shifts_count_modulo_the_bits_of_ints() -> None:
    text = "f(xs : [ushort]{}) = reduce(0, (acc, x) -> acc + ((x * 32000) >> 33), xs)"
    border = 2**31 // (65535 * 16000)
    assert proved(text.format(border))
    assert not proved(text.format(border + 1))


def test_parts_that_add_up_other_parts_are_followed() -> None:
    text = "f(xs : [char]9) = reduce((0, 0), (a, x) -> (a.0 + x, a.1 + a.0), xs)"
    assert [found.terms.count for found in whole_sums(parse(text).body)] == [9, 9]


def test_what_is_refused_does_overflow_and_what_is_proved_does_not() -> None:
    for n, fits in ((BORDER, True), (BORDER + 1, False)):
        p = parse(BYTES.format(n=n, body=SUM))
        inputs = {"xs": np.full(n, 255, np.uint8), "ws": np.full(n, -128, np.int8)}
        assert (int(np.asarray(evaluate(p, inputs))) == -255 * 128 * n) == fits


@pytest.mark.parametrize(
    ("e", "least", "most"),
    [
        ("x & 15", 0, 15),
        ("(x > 3) * 5", 0, 5),
        ("select(x > 3, char(x), uchar(x) + 1)", -128, 256),
        ("x % 7", 0, 6),
        ("min(max(x, -9), 9)", -9, 9),
        ("char_sat(x) * char(x)", -16256, 16384),
        ("(char(x) >> 3) - 1", -17, 14),
        ("let y = uchar(x)  (y - 128) * y", -32640, 32385),
        ("abs(char(x))", 0, 128),
        ("abs(uchar(x) - 300)", 45, 300),
        ("char(x) << 3", -1024, 1016),
        ("(x & 15) | 16", 0, 31),
        ("char(x) | 1", -128, 127),
        ("char(x) / 3", -43, 42),
    ],
)
def test_ranges_of_ints_are_what_the_program_says(e: str, least: int, most: int) -> None:
    e = e.replace("  (", "\n   (")
    found = only_sum(f"f(xs : [int]9) = reduce(0, (acc, x) -> acc + (\n   {e}), xs)")
    assert (found.terms.each.least, found.terms.each.most) == (least, most)


@pytest.mark.parametrize("e", ["x", "x * x", "max(x, 0)", "x >> 1", "float(x)"])
def test_sums_of_which_nothing_is_known_wrap_around_as_ints_do(e: str) -> None:
    assert not whole_sums(parse(f"f(xs : [int]9) = reduce(0, (a, x) -> a + {e}, xs)").body)


def test_quantised_convolutions_are_proved_whatever_their_biases_are() -> None:
    for name in ("qlinear_conv", "tflite_conv"):
        p = example(name, {"C": 2048})
        (found,) = whole_sums(p.body)
        assert found.terms.count == 2048 * 3 * 3
        assert all(holds(c.relation, {}) for c in no_overflow(p.body))


@pytest.mark.parametrize(
    ("e", "most"),
    [
        ("reduce(0, max, r)", 255),  # no turn leaves what the first one makes
        ("reduce(0, (m, x) -> max(m, abs(x - 99)), r)", 156),
        ("reduce(1, (p, x) -> p * x, r)", 255 * 255),  # two turns, and no more
        ("reduce((1, 0), (p, x) -> (p.0 * x, p.1 + x), r).0", 255 * 255),
        ("reduce(0, (m, x) -> int(uchar_sat(m + x)), r)", 255),
        ("at(0, r) / (at(1, r) - 9)", 255),  # by numbers below 0, and by 0
    ],
)
def test_terms_that_are_made_by_reductions_have_a_range(e: str, most: int) -> None:
    text = "f(xs : [[uchar]2]{n}) = reduce(0, (a, r) -> a + {e}, xs)"
    border = (2**31 - 1) // most
    assert proved(text.format(n=border, e=e))
    assert not proved(text.format(n=border + 1, e=e))


def test_a_padding_counts_for_each_part_of_a_tuple() -> None:
    padded = "pad(1, 1, 7, map(x -> (int(x) + 300, -int(x)), xs))"
    for part, least, most in ((0, 7, 555), (1, -255, 7)):
        found = range_of(parse(f"f(xs : [uchar]3) = map(p -> p.{part}, {padded})").body)
        assert (found.least, found.most) == (least, most)


def test_nothing_is_told_of_reductions_that_grow_for_many_turns() -> None:
    grown = "reduce(1, (p, x) -> p * 2 + x, {xs})"
    text = "f(xs : [uchar]{n}) = " + grown.format(xs="xs")
    assert range_of(parse(text.format(n=999)).body).most is None
    assert not proved(text.format(n=999))
    assert not proved(text.format(n=99))
    assert range_of(parse(text.format(n=3)).body).most == 8 + 7 * 255


def test_a_start_of_a_known_range_counts() -> None:
    text = "f(xs : [uchar]8, b : {t}) = reduce({z}, (acc, x) -> acc + x, xs)"
    assert proved(text.format(t="int", z="b"))
    assert proved(text.format(t="short", z="b * 65000"))
    assert not proved(text.format(t="short", z="b * 65537"))


def test_sums_of_shorts_that_an_int_does_not_hold_fit_in_a_long() -> None:
    text = (
        "f(xs : [ushort]9, ws : [ushort]9) = reduce({z}, (acc, (x, w)) -> acc + {e}, zip(xs, ws))"
    )
    assert not proved(text.format(z="0", e="x * w"))
    assert not proved(text.format(z="0L", e="x * w"))  # the products are ints
    assert proved(text.format(z="0L", e="long(x) * long(w)"))


@pytest.mark.parametrize("family", ["naive", "registers", "blocked"])
def test_forms_of_programs_that_may_overflow_are_refused_with_the_sum(
    family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "map(row -> reduce(0, (acc, (x, w)) -> acc + x * w, zip(xs, row)), ws)"
    text = f"f(xs : [uchar]70000, const ws : [[char]70000]8) = {body}"
    file = tmp_path / "long.lift"
    file.write_text(text, encoding="utf-8")
    assert main([str(file), "--family", family, "--profile", "cpu", "--json"]) == 1
    assert "expected a sum that an int holds, found 70000 terms" in capsys.readouterr().out
    assert family in FAMILIES
    assert lowering(parse(text), family).derivation.start == parse(text).body


@pytest.mark.parametrize("number", ["acc + x * x", "acc + (x + 1) * x", "acc + x * -x"])
def test_a_number_that_does_not_fit_is_named_as_the_program_writes_it(number: str) -> None:
    step = f"max({number}, x)" if "-" not in number else f"max({number}, -x)"
    text = f"f(xs : [ushort]60000) = reduce(0, (acc, x) -> {step}, xs)"
    assert {c.origin for c in no_overflow(parse(text).body)} >= {number}


OPERATIONS = ("({} + {})", "({} - {})", "({} * {})", "max({}, {})", "min({}, {})", "({} | {})")
MASKED = (
    *("({} & 37)", "({} >> 2)", "({} % 7)", "(- {})", "char({})", "uchar_sat({})", "int({})"),
    *("abs({})", "({} << 3)", "({} | 6)", "({} / 5)", "(1000 / max({}, 2))"),
    *("({0} / ({0} - 5))", "reduce(0, (m, t) -> max(m - 1, t), [{}, 7])"),
)


def drawn(r: Random, depth: int) -> str:
    """The text of a random term of whole numbers over x : char, y : uchar and z : short, nested
    `depth` deep."""
    if depth == 0:
        return r.choice(("x", "y", "z", "11", "-3"))
    if r.random() < 0.4:
        return r.choice(MASKED).format(drawn(r, depth - 1))
    return r.choice(OPERATIONS).format(drawn(r, depth - 1), drawn(r, depth - 1))


@pytest.mark.no_cover
def test_no_number_is_outside_of_its_range() -> None:
    r = Random()
    corners = [[*RANGES[t], 0, 1, 5, 99] for t in ("char", "uchar", "short")]
    rows = np.array(list(product(*corners)))
    columns = dict(zip("xyz", rows.T, strict=True))
    n, told = len(rows), 0
    for _ in range(300):
        e = drawn(r, r.randint(1, 4))
        p = parse(
            f"f(xs : [char]{n}, ys : [uchar]{n}, zs : [short]{n}) =\n"
            f"  map((x, y, z) -> long({e}), zip(xs, ys, zs))"
        )
        types = {"x": "char", "y": "uchar", "z": "short"}
        inputs = {f"{k}s": v.astype(STORED[types[k]]) for k, v in columns.items()}
        found, out = range_of(p.body), np.asarray(evaluate(p, inputs))
        told += found.least is not None and found.most is not None
        assert found.least is None or found.least <= out.min(), e
        assert found.most is None or out.max() <= found.most, e
    assert told > 100
