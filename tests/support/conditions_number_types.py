"""The side conditions of laws of whole numbers, and of narrow real ones."""

from rewrites.number_laws.accumulators import (
    rounded_later,
    split_loop,
    sum_afresh,
    sum_in_float,
)
from rewrites.number_laws.widening import float_once, float_product, widen
from rewrites.number_laws.zero_points import zero_points_out
from tests.support.condition import Condition as C

BYTES = "xs : [uchar]6, ws : [char]6, a : int, b : char, i : int, k : long, f : float"
HALVES = "xs : [half]6, is : [int]6, h : half, f : float, i : int"
ROWS = "xss : [[half]2]3, fs : [float]2"
SUM = "reduce(i, (acc, (x, w)) -> {}, zip(xs, ws))"

CONDITIONS = [
    C(zero_points_out, "the reduction is a fold", BYTES, SUM, "acc + (x - a) * w",
      "acc * 2 + (x - a) * w"),
    C(zero_points_out, "it is a sum", BYTES, SUM, "acc + (x - a) * w", "max(acc, (x - a) * w)"),
    C(zero_points_out, "its terms are products", BYTES, SUM, "acc + (x - a) * w", "acc + (x - a)"),
    C(zero_points_out, "a factor has a zero point", BYTES, SUM, "acc + (x - a) * (w - b)",
      "acc + (x + a) * w"),
    C(zero_points_out, "zero points do not depend on the elements", BYTES, SUM,
      "acc + (x - a) * w", "acc + (x - w) * w"),
    C(zero_points_out, "what they are taken from does", BYTES, SUM, "acc + (x - a) * w",
      "acc + (a - i) * w"),
    C(zero_points_out, "the sum is a whole number", BYTES,
      "reduce({}, (acc, (x, w)) -> acc + (x - a) * w, zip(xs, ws))", "i", "f"),
    C(zero_points_out, "differences are of the type of the sum", BYTES,
      "reduce(k, (acc, (x, w)) -> acc + ({} - a) * w, zip(xs, ws))", "long(x)", "x"),
    C(sum_in_float, "the sum is of halves or bfloats", HALVES,
      "reduce({}, (acc, x) -> acc + x, xs)", "h", "f"),
    C(sum_in_float, "the reduction is a sum", HALVES, "reduce(h, (acc, x) -> {}, xs)", "acc + x",
      "max(acc, x)"),
    C(sum_in_float, "it is a fold", HALVES, "reduce(h, (acc, x) -> {}, xs)", "acc + x", "x - acc"),
    C(sum_in_float, "its terms are of its type", HALVES, "reduce(h, (acc, x) -> acc + {}, xs)", "x",
      "2i"),
    C(rounded_later, "what is rounded is a float", HALVES, "float(half({}))", "f", "i"),
    C(float_product, "it is a product", HALVES, "float({})", "h * h", "h + h"),
    C(float_product, "it is of halves or bfloats", HALVES, "float({})", "h * h", "i * i"),
    C(widen, "floats are all that is read", HALVES, "map(x -> float({}), xs)", "x", "x * h",
      {"name": "xs"}),
    C(widen, "the numbers are narrower than floats", HALVES,
      "map((x, i) -> float(x) + float(i), zip(xs, is))", {"name": "xs"}, {"name": "is"}),
    C(widen, "the result is made of floats", HALVES, "map(x -> {}, xs)", "float(x)", "max(x, h)",
      {"name": "xs"}),
    C(float_once, "floats are all that is read", HALVES, "let! ys = xs map(y -> float({}), ys)",
      "y", "y * h"),
    C(float_once, "the numbers are narrower than floats", HALVES,
      "let! ys = {} map(y -> float(y), ys)", "xs", "is"),
    C(float_once, "the result is made of floats", HALVES, "let! ys = xs map(y -> {}, ys)",
      "float(y)", "max(y, h)"),
    C(split_loop, "k divides n", HALVES, "reduceSeq(f, (acc, x) -> acc + float(x), xs)", {"k": 3},
      {"k": 4}),
    C(sum_afresh, "the loop goes on from a variable", HALVES,
      "reduceSeq({}, (acc, x) -> acc + float(x), xs)", "f", "1.0"),
    C(sum_afresh, "it adds", HALVES, "reduceSeq(f, (acc, x) -> {}, xs)", "acc + float(x)",
      "acc * float(x)"),
    C(sum_afresh, "what it adds does not depend on the sum", HALVES,
      "reduceSeq(f, (acc, x) -> {}, xs)", "acc + float(x)", "acc + float(x * half(acc))"),
    C(sum_afresh, "it adds narrow numbers, converted", HALVES,
      "reduceSeq(f, (acc, x) -> acc + float({}), xs)", "x", "i"),
    C(sum_afresh, "it adds one number to each sum", ROWS,
      "reduceSeq(fs, (acc, row) -> {}, xss)",
      "unrolled mapSeq((a, x) -> a + float(x), zip(acc, row))",
      "unrolled mapSeq((a, x) -> a + float(x), zip(reorder(i -> 1 - i, acc), row))"),
]  # fmt: skip
