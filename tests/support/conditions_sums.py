"""The side conditions of laws of Fourier transforms, of bilinear maps, and of sums over windows."""

# key: w window, x what it is of, g h taps, z initial value, m results, r taps, n length

from collections.abc import Callable

from ir.core.nodes import Expr, Var
from ir.core.types import FLOAT, Array
from ir.text.show import show
from rewrites.engine.rule import Rule
from rewrites.fast_algorithms import block_products as products
from rewrites.fast_algorithms import by_rows as over_rows
from rewrites.fast_algorithms import by_spectra, fourier
from rewrites.fast_algorithms import complex_products as complexes
from rewrites.fast_algorithms import constant_matrices as constant
from rewrites.fast_algorithms import fewer_products as bilinear
from rewrites.fast_algorithms import shared_fourier as paired
from rewrites.fast_algorithms import sums_of_spectra as spectra
from rewrites.fast_algorithms import toeplitz as matrices
from rewrites.fast_algorithms.by_windows import by_windows
from rewrites.fast_algorithms.dft_terms import COMPLEX, dft, irdft, rdft
from rewrites.transforms.sums_over_tiles import by_numbered_tiles, by_parts_of_tiles
from tests.support.condition import Arguments
from tests.support.condition import Condition as C

XS = "xs : [float]6"
LONG = "xs : [float]6, g : [float]4"
TAPS = f"{XS}, g : [float]3, b : float, gs : [[float]3]4, is : [int]6, ig : [int]3"
CORRELATED = "map(w -> reduce({z}, (a, (x, h)) -> {sum}, zip({one}, {two})), slide(3, {s}, {xs}))"
PLAIN = {"z": "0.0", "sum": "a + x * h", "one": "w", "two": "g", "s": "1", "xs": "xs"}
PLANE = (
    "xss : [[float]4]3, gs : [[float]2]2, qs : [[float]4]2, row4 : [float]4, t : [float]2, "
    "zs : [[float]2]2, b : float"
)
IN_PLANE = (
    "map(rows -> map(w -> reduce({z}, (a, (xs, hs)) -> reduce({inner}, (c, (x, h)) -> c + x * h, "
    "zip({one}, {two})), zip(w, {taps})), transpose(map(row -> slide(2, {s}, {row}), {rows}))), "
    "slide(2, {t}, {xss}))"
)
PLAIN_PLANE = {
    "z": "0.0", "inner": "a", "one": "xs", "two": "hs", "taps": "gs", "s": "1", "row": "row",
    "rows": "rows", "t": "1", "xss": "xss",
}  # fmt: skip
PRODUCT = "map(x -> map(y -> reduce({z}, (s, (a, b)) -> {sum}, zip({one}, {two})), {ys}), {xs})"
PLAIN_PRODUCT = {
    "z": "0.0", "sum": "s + a * b", "one": "x", "two": "y", "xs": "xss", "ys": "yss",
}  # fmt: skip
MATRICES = (
    "xss : [[float]4]2, yss : [[float]4]6, odd : [[float]4]3, o3 : [[float]3]2, c : float, "
    "q : [float]4"
)
COMPLEX_PRODUCT = (
    "map(x -> map(y -> reduce(({z}, 0.0), (s, (a, b)) -> (s.0 + (a.0 * b.0 - a.1 * b.1), "
    "s.1 + (a.0 * b.1 {sign} a.1 * b.0)), zip({one}, {two})), {ys}), {xs})"
)
PLAIN_COMPLEX = {"z": "0.0", "sign": "+", "one": "x", "two": "y", "xs": "xss", "ys": "yss"}
PAIRS = (
    "xss : [[(float, float)]4]2, yss : [[(float, float)]4]6, odd : [[(float, float)]4]1, "
    "q : [(float, float)]4"
)
TABLE = "map(row -> reduce({z}, (s, (c, x)) -> {sum}, zip({one}, {two})), [[1.0, {c}], [2.0, 3.0]])"
PLAIN_TABLE = {"z": "0.0", "sum": "s + c * x", "one": "row", "two": "xs", "c": "4.0"}
HALVES = TABLE.replace("[1.0, {c}], [2.0, 3.0]", "[1.0, 2.0, {c}], [1.0, -2.0, 3.0]")
PLAIN_HALVES = PLAIN_TABLE | {"c": "3.0"}
ADDED = "reduce(generate(3, i -> {z}), (acc, row) -> map(x -> x.0 {op} x.1, zip({acc}, {f})), xss)"
PLAIN_ADDED = {"z": "0.0", "op": "+", "acc": "acc", "f": "pad_any(-1, 0, row)"}
WIDE = "xss : [[float]4]2, z : [float]3"
ROWS = "map(w -> reduce({z}, (a, (x, h)) -> {sum}, zip({one}, {two})), slide(3, 1, {xs}))"
PLANES = "zs : [[[float]3]2]4, ws : [[[float]3]2]4"
SPECTRA = show(
    over_rows.adding(
        over_rows.zeros(Array(COMPLEX, 3)),
        Var("zs", Array(Array(Array(FLOAT, 3), 2), 4)),
        Var("ws", Array(Array(Array(FLOAT, 3), 2), 4)),
        1,
        spectra.of_planes,
    )
)


def opened(text: str, plain: dict[str, str], *places: str) -> str:
    """The text with each place {name} filled in with plain[name], except the places named in
    `places`, which become {}."""
    return text.format(**plain | dict.fromkeys(places, "{}"))


def transform(make: Callable[[Expr, int], Expr], n: int, name: str = "xs") -> str:
    """The text of the transform that make(xs, n) builds of an array xs of n numbers, with `name` as
    the array's name."""
    size = n // 2 + 1 if make is irdft else n
    elem = FLOAT if make is rdft else COMPLEX
    return show(make(Var(name, Array(elem, size)), n))


def pairs(n: int) -> str:
    return f"[(float, float)]{n}"


def in_phases(rule: Rule) -> list[C]:
    """The side conditions of `rule`, which splits a transform of length n into r phases."""
    xs, text = f"xs : {pairs(4)}", transform(dft, 4)
    return [
        C(rule, "r divides n", xs, text, {"r": 2}, {"r": 3}),
        C(rule, "r is less than n", xs, text, {"r": 2}, {"r": 4}),
        C(rule, "r is more than 1", xs, text, {"r": 2}, {"r": 1}),
        C(rule, "the roots are those of n", xs, text.replace("cospi", "{}", 1),
          "cospi", "sinpi", {"r": 2}),
        C(rule, "what is transformed is the same at all frequencies", xs,
          text.replace("zip(xs", "zip({}"), "xs", "map(z -> (z.0 * k, z.1), xs)", {"r": 2}),
    ]  # fmt: skip


def two(first: int, second: int, make: Callable[[Expr, int], Expr]) -> tuple[str, str, str, str]:
    """Four texts about transforms, as `make` builds them, of lengths `first` and `second`: the
    parameters, a term whose place {} stands for one transform, and each of the two transforms."""
    sizes = [n // 2 + 1 if make is irdft else n for n in (first, second)]
    types = [f"[float]{n}" if make is rdft else pairs(n) for n in sizes]
    names = f"xs : {types[0]}, ys : {types[1]}"
    return names, "{}", transform(make, first), transform(make, second, "ys")


TRANSFORMS = [
    *in_phases(fourier.split_dft),
    *in_phases(paired.split_dft_tabled),
    C(paired.pair_rdft, "n is even", *two(4, 5, rdft)),
    C(paired.pair_irdft, "n is more than 2", *two(4, 2, irdft)),
    C(fourier.dft_of_two, "n is 2", *two(2, 4, dft)),
    C(fourier.rdft_of_two, "n is 2", *two(2, 4, rdft)),
    C(fourier.irdft_of_two, "n is 2", *two(2, 4, irdft)),
    C(fourier.rdft_of_four, "n is 4", *two(4, 8, rdft)),
    C(fourier.irdft_of_four, "n is 4", *two(4, 8, irdft)),
    C(fourier.split_rdft, "4 divides n", *two(4, 6, rdft)),
    C(fourier.split_irdft, "4 divides n", *two(4, 6, irdft)),
]

F = bilinear.fewer_products
M4, M22 = {"m": (4,), "r": (3,)}, {"m": (2, 3), "r": (2, 2)}

CORRELATIONS = [
    C(F, "m is the number of results", TAPS, CORRELATED.format(**PLAIN),
      {"m": (4,)}, {"m": (2,)}, {"r": (3,)}),
    C(F, "r is the number of taps", TAPS, CORRELATED.format(**PLAIN),
      {"r": (3,)}, {"r": (2,)}, {"m": (4,)}),
    C(F, "there are two results or more", f"{TAPS}, g6 : [float]6",
      "map(w -> dot(w, {}, 1, xs))", ("g), slide(3", M4),
      ("g6), slide(6", {"m": (1,), "r": (6,)})),
    C(F, "windows are one apart", TAPS, opened(CORRELATED, PLAIN, "s"),
      ("1", {"m": (4,)}), ("2", {"m": (2,)}), {"r": (3,)}),
    C(F, "sums start from 0", TAPS, opened(CORRELATED, PLAIN, "z"), "0.0", "1.0", M4),
    C(F, "from a written 0", TAPS, opened(CORRELATED, PLAIN, "z"), "0.0", "b", M4),
    C(F, "what is added is linear in the window", TAPS, opened(CORRELATED, PLAIN, "sum"),
      "a + x * h", "a + x * x * h", M4),
    C(F, "what is added is linear in the taps", TAPS, opened(CORRELATED, PLAIN, "sum"),
      "a + x * h", "a + max(x, h)", M4),
    C(F, "it is added", TAPS, opened(CORRELATED, PLAIN, "sum"), "x * h + a", "x * h - a", M4),
    C(F, "the taps are the same for all windows", TAPS, opened(CORRELATED, PLAIN, "two"),
      "g", "map(x -> x + at(0, w), w)", M4),
    C(F, "products are the same for all windows", f"{TAPS}, w : [float]3",
      opened(CORRELATED, PLAIN, "sum"), "a + x * h * b", "a + x * h * at(0, w)", M4),
    C(F, "windows are taken as they are", TAPS, opened(CORRELATED, PLAIN, "one"),
      "w", "map(x -> -x, w)", M4),
    C(F, "they are numbers, not what is left to chance", TAPS, opened(CORRELATED, PLAIN, "xs"),
      "pad(0, 1, 0.0, pad_any(-1, 0, xs))", "pad_any(0, 1, pad_any(-1, 0, xs))", M4),
    C(F, "in two dimensions, sums start from 0", PLANE, opened(IN_PLANE, PLAIN_PLANE, "z"),
      "0.0", "1.0", M22),
    C(F, "inner sums start from the outer", PLANE, opened(IN_PLANE, PLAIN_PLANE, "inner"),
      "a", "b", M22),
    C(F, "inner sums go over rows of the windows", PLANE, opened(IN_PLANE, PLAIN_PLANE, "one"),
      "xs", "t", M22),
    C(F, "and rows of the taps", PLANE, opened(IN_PLANE, PLAIN_PLANE, "two"), "hs", "t", M22),
    *(C(F, f"products are the same for all {of}", PLANE, IN_PLANE.format(**PLAIN_PLANE).replace(
        "x * h", "x * h * {}"), "b", term, M22)
      for of, term in (
          ("rows", "at(0, at(0, rows))"), ("planes' windows", "at(0, at(0, w))"),
          ("rows of windows", "at(0, xs)"), ("rows of taps", "at(0, hs)"), ("sums", "a"),
      )),
    C(F, "the taps are the same for all rows", PLANE, opened(IN_PLANE, PLAIN_PLANE, "taps"),
      "gs", "map(r -> pad(-1, -1, 0.0, r), rows)", M22),
    C(F, "columns' windows are of the rows", PLANE, opened(IN_PLANE, PLAIN_PLANE, "rows"),
      "rows", "qs", M22),
    C(F, "of each row", PLANE, opened(IN_PLANE, PLAIN_PLANE, "row"), "row", "row4", M22),
    C(F, "they are one apart", PLANE, opened(IN_PLANE, PLAIN_PLANE, "s"),
      ("1", {"m": (2, 3)}), ("2", {"m": (2, 2)}), {"r": (2, 2)}),
    C(F, "rows' windows are one apart", f"{PLANE}, x4 : [[float]4]4",
      opened(IN_PLANE, PLAIN_PLANE | {"xss": "x4"}, "t"),
      ("1", {"m": (3, 3)}), ("2", {"m": (2, 3)}), {"r": (2, 2)}),
    *(C(constant.divide_matrix, name, "xs : [float]3, ys : [float]3, b : float",
        opened(HALVES, PLAIN_HALVES, key), good, bad)
      for name, key, good, bad in (
          ("the matrix is constant", "c", "3.0", "b"),
          ("that takes fewer additions", "c", "3.0", "4.0"),
          ("sums start from 0", "z", "0.0", "1.0"),
          ("they are of products", "sum", "s + c * x", "s + max(c, x)"),
          ("of the rows", "one", "row", "ys"),
          ("with what is the same for all", "two", "xs", "row"),
      )),
    C(constant.spell_rows, "the matrix is constant", "xs : [float]2, b : float",
      opened(TABLE, PLAIN_TABLE, "c"), "4.0", "b"),
    C(constant.spell_rows, "sums start from 0", "xs : [float]2, b : float",
      opened(TABLE, PLAIN_TABLE, "z"), "0.0", "1.0"),
    C(constant.spell_rows, "they are of products", "xs : [float]2, b : float",
      opened(TABLE, PLAIN_TABLE, "sum"), "s + c * x", "s + max(c, x)"),
    C(constant.spell_rows, "of the rows", "xs : [float]2, ys : [float]2",
      opened(TABLE, PLAIN_TABLE, "one"), "row", "ys"),
    C(constant.spell_rows, "with what is the same for all", "xs : [float]2",
      opened(TABLE, PLAIN_TABLE, "two"), "xs", "row"),
]  # fmt: skip

PRODUCTS = [
    C(products.fewer_blocks, "the number of rows is even", MATRICES,
      opened(PRODUCT, PLAIN_PRODUCT, "xs"), "xss", "odd"),
    C(products.fewer_blocks, "the number of columns is even", MATRICES,
      opened(PRODUCT, PLAIN_PRODUCT, "ys"), "yss", "odd"),
    C(products.fewer_blocks, "the sums are of an even number", f"{MATRICES}, p3 : [[float]3]6",
      "map(x -> map(y -> dot(x, y), {}", "yss), xss)", "p3), o3)"),
    C(products.fewer_blocks, "rows are numbers, not what is left to chance", MATRICES,
      opened(PRODUCT, PLAIN_PRODUCT, "xs"), "pad(0, 1, q, odd)",
      "pad_any(0, 1, odd)"),
    C(products.fewer_blocks, "columns too", MATRICES, opened(PRODUCT, PLAIN_PRODUCT, "ys"),
      "pad(0, 1, q, odd)", "pad_any(0, 1, odd)"),
    *(condition
      for rule, arguments in ((products.fewer_blocks, {}), (products.round_product, {"k": 4}))
      for condition in (
          C(rule, "sums start from 0", MATRICES, opened(PRODUCT, PLAIN_PRODUCT, "z"),
            "0.0", "1.0", arguments),
          C(rule, "they are of products", MATRICES, opened(PRODUCT, PLAIN_PRODUCT, "sum"),
            "s + a * b", "s + max(a, b)", arguments),
          C(rule, "of rows", MATRICES, opened(PRODUCT, PLAIN_PRODUCT, "one"), "x", "q", arguments),
          C(rule, "and columns", MATRICES, opened(PRODUCT, PLAIN_PRODUCT, "two"), "y", "q",
            arguments),
          C(rule, "columns are the same for all rows", MATRICES,
            opened(PRODUCT, PLAIN_PRODUCT, "ys"), "yss", "split(4, x)", arguments),
      )),
    *(C(complexes.three_products, words, PAIRS,
        opened(COMPLEX_PRODUCT, PLAIN_COMPLEX, hole), holds, violated)
      for words, hole, holds, violated in (
          ("sums start from 0", "z", "0.0", "1.0"),
          ("what is added is a product of complex numbers", "sign", "+", "-"),
          ("of rows", "one", "x", "q"),
          ("and columns", "two", "y", "q"),
          ("columns are the same for all rows", "ys", "yss", "split(4, x)"),
          ("rows are numbers, not what is left to chance", "xs", "join(split(1, odd))",
           "pad_any(0, 1, odd)"),
          ("columns too", "ys", "join(split(1, odd))", "pad_any(0, 1, odd)"),
      )),
    C(products.round_product, "some side is no multiple of k", MATRICES,
      PRODUCT.format(**PLAIN_PRODUCT), {"k": 4}, {"k": 2}),
]  # fmt: skip

T = matrices.replicate_taps
OVER_TILES: tuple[tuple[Rule, Arguments], ...] = (
    (by_numbered_tiles, {"side": 2}),
    (by_parts_of_tiles, {"side": 2, "part": 1}),
)
LONG_SUMS = (
    ("sums start from 0", LONG,
     "map(w -> reduce({}, (a, (x, h)) -> a + x * h, zip(w, g)), slide(4, 1, xs))",
     "0.0", "1.0"),
    ("they are of products", LONG,
     "map(w -> reduce(0.0, (a, (x, h)) -> a + {}, zip(w, g)), slide(4, 1, xs))",
     "x * h", "max(x, h)"),
    ("windows are larger than their number", f"{LONG}, ys : [float]9",
     "map(w -> dot(w, g), slide(4, 1, {}))", "xs", "ys"),
    ("windows are one apart", LONG, "map(w -> dot(w, g), slide(4, {}, xs))", "1", "2"),
    ("nothing else is summed up", f"{LONG}, rows : [[float]2]6, k : [[float]2]4",
     "map(w -> {}, slide(4, 1, rows))", "dot(map(p -> at(0, p), w), g)",
     "reduce(0.0, (a, (x, h)) -> reduce(a, (b, (c, t)) -> b + c * t, zip(x, h)), zip(w, k))"),
    ("nothing is done to sums", LONG, "map(w -> {}, slide(4, 1, xs))",
     "dot(w, g)", "dot(w, g) + 1.0"),
    ("all planes share the kernels", f"{LONG}, xss : [[float]6]2, gs : [[float]4]2",
     "map((x, t) -> map(w -> dot(w, {}), slide(4, 1, x)), zip(xss, gs))", "g", "t"),
    ("what windows are of are numbers", f"{LONG}, x5 : [float]5",
     "map(w -> dot(w, g), slide(4, 1, map(x -> -x, {}, x5))))",
     "pad(0, 1, 0.0", "pad_any(0, 1"),
)  # fmt: skip

WINDOWS = [
    C(T, "what is added is linear in the taps", TAPS, opened(ROWS, PLAIN, "sum"),
      "a + x * x * h", "a + x * abs(h)"),
    C(T, "and 0 without them", TAPS, opened(ROWS, PLAIN, "sum"), "a + x * h", "a + x + h"),
    C(T, "what windows are of are numbers", TAPS, opened(ROWS, PLAIN, "xs"),
      "pad(0, 1, 0.0, xs)", "pad_any(0, 1, xs)"),
    C(T, "the taps are the same for all windows", TAPS, opened(ROWS, PLAIN, "two"),
      "g", "map(x -> x * at(0, w), w)"),
    C(T, "only one is a window", TAPS, opened(ROWS, PLAIN, "two"), "g", "w"),
    C(T, "and one is", TAPS, opened(ROWS, PLAIN, "one"), "w", "g"),
    C(T, "sums start from what is the same for all", TAPS, opened(ROWS, PLAIN, "z"),
      "b", "at(0, w)"),
    C(T, "what is added is too", TAPS, opened(ROWS, PLAIN, "sum"),
      "a + x * h * b", "a + x * h * at(0, w)"),
    C(T, "there is one 0 for all taps", f"{TAPS}, ps : [(float, int)]3",
      "map(w -> reduce(0.0, (a, (x, h)) -> a + x * {}), slide(3, 1, xs))",
      "h, zip(w, g)", "h.0, zip(w, ps)"),
    C(over_rows.by_rows, "sums start from 0", TAPS, opened(ROWS, PLAIN, "z"), "0.0", "1.0"),
    C(over_rows.by_rows, "they are of products", TAPS, opened(ROWS, PLAIN, "sum"),
      "a + x * h", "a + max(x, h)"),
    C(over_rows.by_rows, "they are sums", TAPS, opened(ROWS, PLAIN, "sum"),
      "a + x * h", "max(a, x * h)"),
    C(over_rows.by_rows, "windows are multiplied with taps", TAPS,
      opened(ROWS, PLAIN, "two"), "g", "w"),
    C(over_rows.by_rows, "windows and taps are of one type", TAPS,
      opened(ROWS, PLAIN, "two"), "g", "ig"),
    C(over_rows.by_rows, "what windows are of are numbers", TAPS, opened(ROWS, PLAIN, "xs"),
      "map(x -> -x, pad(0, 1, 0.0, xs))", "map(x -> -x, pad_any(0, 1, xs))"),
    C(over_rows.by_rows, "the taps are the same for all windows", TAPS,
      "map((w, g) -> reduce(0.0, (a, (x, h)) -> a + x * h, zip(w, {})), zip(slide(3, 1, xs), gs))",
      "at(0, gs)", "g"),
    *(C(by_windows, *rest) for rest in (
        ("sums start from 0", TAPS, opened(ROWS, PLAIN, "z"), "0.0", "1.0"),
        ("they are of products", TAPS, opened(ROWS, PLAIN, "sum"), "a + x * h", "a + max(x, h)"),
        ("windows are multiplied with taps", TAPS, opened(ROWS, PLAIN, "two"), "g", "w"),
        ("what windows are of are numbers", TAPS, opened(ROWS, PLAIN, "xs"),
         "map(x -> -x, pad(0, 1, 0.0, xs))", "map(x -> -x, pad_any(0, 1, xs))"),
        ("the taps are the same for all windows", TAPS,
         "map((w, g) -> dot(w, {}), zip(slide(3, 1, xs), gs))", "at(0, gs)", "g"),
        ("windows are one apart", f"{TAPS}, x8 : [float]8", "map(w -> dot(w, g), slide(3, {}))",
         "1, xs", "2, x8"),
        ("windows of elements that lie apart are one apart", f"{TAPS}, x9 : [float]9",
         "map(w -> dot(join(slide(1, 2, w)), g), slide(5, {}))", "1, xs", "2, x9"),
        ("what else is summed up is of both", f"{TAPS}, y : [[float]6]2, h : [[float]3]2",
         "map(w -> {}, slide(3, 1, xs))", "dot(w, g)",
         "reduce(0.0, (a, (x, k)) -> reduce(a, (b, (c, t)) -> b + c * t, zip(w, k)), zip(y, h))"),
        ("the maps over windows are innermost", TAPS, "{}",
         "map(t -> map(w -> dot(w, t), slide(3, 1, xs)), gs)",
         "map(w -> map(t -> dot(w, t), gs), slide(3, 1, xs))"),
        ("what is done to sums is the same for all windows", TAPS,
         "map(w -> dot(w, g) + {}, slide(3, 1, xs))", "b", "at(0, w)"),
    )),
    *(C(rule, *rest, arguments=given) for rest in LONG_SUMS for rule, given in OVER_TILES),
    C(by_numbered_tiles, "there are several tiles", LONG, "map(w -> dot(w, g), slide(4, 1, xs))",
      {"side": 3}, {"side": 4}),
    C(by_parts_of_tiles, "there are several tiles", LONG, "map(w -> dot(w, g), slide(4, 1, xs))",
      {"side": 3, "part": 1}, {"side": 4, "part": 1}),
    C(by_parts_of_tiles, "parts divide their number", LONG, "map(w -> dot(w, g), slide(4, 1, xs))",
      {"side": 2, "part": 2}, {"side": 2, "part": 3}),
    C(by_spectra.linear_sum, "sums start from 0", WIDE, opened(ADDED, PLAIN_ADDED, "z"),
      "0.0", "1.0"),
    C(by_spectra.linear_sum, "what is added is a crop or a transform", WIDE,
      opened(ADDED, PLAIN_ADDED, "f"), "pad_any(-1, 0, row)", "z"),
    C(by_spectra.linear_sum, "a crop", "xss : [[float]2]2", opened(ADDED, PLAIN_ADDED, "f"),
      "pad_any(0, -1, pad_any(0, 2, row))", "pad_any(0, 1, row)"),
    C(by_spectra.linear_sum, "it is added", WIDE, opened(ADDED, PLAIN_ADDED, "op"), "+", "-"),
    C(by_spectra.linear_sum, "to what was added before", WIDE, opened(ADDED, PLAIN_ADDED, "acc"),
      "acc", "z"),
    C(by_spectra.linear_sum, "inner sums start from the outer", f"cs : [[[float]4]2]2, {WIDE}",
      "reduce(generate(3, i -> 0.0), (acc, rows) -> reduce({}, (a, row) -> "
      "map(x -> x.0 + x.1, zip(a, pad_any(-1, 0, row))), rows), cs)", "acc", "z"),
    C(by_spectra.linear_sum, "inner arrays do not use the sum", f"cs : [[[float]4]2]2, {WIDE}",
      "reduce(generate(3, i -> 0.0), (acc, rows) -> reduce(acc, (a, row) -> "
      "map(x -> x.0 + x.1, zip(a, pad_any(-1, 0, map(x -> x * at(0, {}), row)))), rows), cs)",
      "z", "acc"),
    *(condition
      for rule in (spectra.real_sums, spectra.three_sums, spectra.sums_in_planes)
      for condition in (
          C(rule, "sums start from 0", PLANES, SPECTRA.replace("(0.0", "({}", 1), "0.0", "1.0"),
          C(rule, "they are of products", PLANES, SPECTRA.replace(" * ", " {} ", 1), "*", "-"),
          C(rule, "of what is not computed", PLANES, SPECTRA.replace("zip(zs, ws)", "zip({}, ws)"),
            "zs", "map(s -> map(p -> map(x -> -x, p), s), zs)"),
      )),
    C(by_spectra.correlate, "windows are one apart", f"{XS}, g : [float]3",
      "map(w -> reduce(0.0, (acc, t) -> acc + t.0 * t.1, zip(w, g)), slide(3, {}, xs))", "1", "2"),
    C(by_spectra.correlate, "they are multiplied with taps", f"{XS}, g : [float]3",
      "map(w -> reduce(0.0, (acc, t) -> acc + t.0 * t.1, zip(w, {})), slide(3, 1, xs))", "g", "w"),
    C(by_spectra.correlate, "sums start from 0", f"{XS}, g : [float]3",
      "map(w -> reduce({}, (acc, t) -> acc + t.0 * t.1, zip(w, g)), slide(3, 1, xs))",
      "0.0", "1.0"),
    C(by_spectra.correlate, "they are of products", f"{XS}, g : [float]3",
      "map(w -> reduce(0.0, (acc, t) -> acc + t.0 {} t.1, zip(w, g)), slide(3, 1, xs))", "*", "-"),
    C(by_spectra.correlate, "what windows are of are numbers", f"{XS}, g : [float]3",
      "map(w -> reduce(0.0, (acc, t) -> acc + t.0 * t.1, zip(w, g)), slide(3, 1, {}))",
      "pad(0, 1, 0.0, xs)", "pad_any(0, 1, xs)"),
]  # fmt: skip

CONDITIONS = [*TRANSFORMS, *CORRELATIONS, *PRODUCTS, *WINDOWS]
