"""The side conditions of laws of whole numbers."""

from rewrites.laws.zero_points import zero_points_out
from tests.support.condition import Condition as C

BYTES = "xs : [uchar]6, ws : [char]6, a : int, b : char, i : int, k : long, f : float"
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
]  # fmt: skip
