"""The side conditions of laws that lower, of maps, reductions, vectors and lets."""

# key: x y z b variables, k v sizes, f function

from condition import Condition as C

from ir.nodes import Binary, Level, Lit, Unary, Var
from ir.types import FLOAT
from rewrites import laws_capture as captures
from rewrites import laws_hoist as out
from rewrites import laws_interchange as nests
from rewrites import laws_let as lets
from rewrites import laws_lower as lower
from rewrites import laws_map as maps
from rewrites import laws_reduce as folds
from rewrites import laws_units as units
from rewrites import laws_vector as vectors
from rewrites import laws_zip as zips

XS, XSS = "xs : [float]6", "xss : [[float]3]2"
BOTH, WITH_B = f"{XS}, ys : [float]6", f"{XS}, b : float"
ROWS_B, ROW_Z = f"{XSS}, b : float", f"{XSS}, z : [float]3"
X, Y, B = (Var(name, FLOAT) for name in "xyb")
MINUS_B, SQUARE, TIMES = Unary("neg", B), Binary("*", X, X), Binary("*", X, Y)
SUM = "reduce(0.0, (acc, x) -> {}, xs)"
NEST = "reduce(0.0, (acc, row) -> {}, xss)"
HIDDEN = "(let acc = x * x  acc + 1.0)"
PARTS = "reduce(0.0, (acc, x) -> acc {} {}, map(c -> reduce({}, (a, x) -> {}, {}), split({}, {})))"
ABOVE = "map(w -> map(r -> map(x -> {}, r), w), slide(2, 1, {}))"

LOWER = [
    C(lower.to_parallel, "d is 0, 1 or 2", XS, "map(x -> -x, xs)", {"dim": 2}, {"dim": 3},
      {"level": Level.LOCAL}),
    C(lower.store, "e is not stored yet", XS, "{}", "xs", "store(xs)"),
    C(lower.share, "the term means the same outside", WITH_B, "map(x -> x + b, xs)",
      {"term": B}, {"term": X}),
    C(lower.share, "the term is there", WITH_B, "map(x -> x + b, xs)",
      {"term": B}, {"term": MINUS_B}),
]  # fmt: skip

MAPS = [
    C(maps.constant_part, "a part is a constant", XS,
      "map((x, i) -> x * i, zip(xs, generate(6, i -> {})))", "1.0", "i * 1.0"),
    C(maps.constant_part, "a part is none", XS,
      "map((x, i) -> x * i, zip({}, generate(6, i -> 1.0)))", "xs", "generate(6, i -> 2.0)"),
    C(maps.fuse_zip, "a part is a map", BOTH, "map((x, y) -> x + y, zip({}, ys))",
      "map(x -> -x, xs)", "xs"),
    C(zips.unused_part, "y is not read", BOTH, "map((x, y) -> {}, zip(xs, ys))", "-x", "x + y"),
    C(maps.fission, "the term is no function", XSS, "map(row -> map(x -> -x, row), xss)",
      {"place": (1,)}, {"place": (0,)}),
    C(maps.fission, "nothing that it uses is bound beside it, by a function", ROWS_B,
      "map(row -> map(x -> {}, row), xss)", "-b", "-x", {"place": (0, 0)}),
    C(maps.fission, "nothing that it uses is bound beside it, by a let", XS,
      "map(x -> (let! y = -x  {} + y * y), xs)", "x * x", "y", {"place": (1, 0)}),
    C(maps.split_map, "k divides n", XS, "map(x -> -x, xs)", {"k": 3}, {"k": 4}),
    C(maps.split_map, "k is 1 or more", XS, "map(x -> -x, xs)", {"k": 1}, {"k": 0}),
    C(maps.split_map, "k is not less than 0", XS, "map(x -> -x, xs)", {"k": 2}, {"k": -2}),
    C(maps.round_map, "k does not divide n", XS, "map(x -> -x, xs)", {"k": 4}, {"k": 3}),
    C(maps.extend_map, "r is 1 or more", XS, "map(x -> -x, xs)", {"r": 1}, {"r": 0}),
    C(maps.extend_map, "r is not less than 0", XS, "map(x -> -x, xs)", {"r": 1}, {"r": -1}),
    C(maps.pull_view, "the view only crops", XSS, "map(row -> pad({}, 0, 0.0, row), xss)",
      "-1", "1"),
    C(maps.pull_view, "the view does not use x", XSS,
      "map(row -> pad(-1, 0, {}, map(x -> -x, row)), xss)", "0.0", "at(0, row)"),
    C(maps.inline_view, "x is a view", XS, "let! y = {} zip(y, y)",
      "join(split(2, xs))", "map(x -> -x, xs)"),
    C(nests.interchange, "x is not in ys", XSS, "map(row -> map(y -> y, {}), xss)",
      "at(0, xss)", "row"),
    C(nests.interchange_rows, "f does not use x", ROWS_B,
      "map(row -> map(x -> x + {}, row), xss)", "b", "at(0, row)"),
    C(nests.interchange_rows, "f goes over x", XSS, "map(row -> map(x -> -x, {}), xss)",
      "row", "at(0, xss)"),
    C(nests.interchange_zip, "a part does not depend on x", XSS,
      "map(row -> map((x, y) -> x + y, zip(row, {})), xss)", "at(0, xss)", "row"),
    C(nests.interchange_mapped, "f does not use x", ROWS_B,
      "map(row -> map(x -> x + {}, row), xss)", "b", "at(0, row)"),
    C(nests.pair, "ys is not x itself", XSS, "map(row -> map(x -> -x, {}), xss)",
      "join(split(1, row))", "row"),
]  # fmt: skip

REDUCTIONS = [
    C(folds.split_reduce, "k divides n", XS, SUM.format("x - acc"), {"k": 3}, {"k": 4}),
    C(folds.join_reduce, "the inner sum starts from the outer", ROWS_B,
      NEST.format("reduce({}, (a, x) -> a + x, row)"), "acc", "b"),
    C(folds.join_reduce, "f does not use x", ROWS_B,
      NEST.format("reduce(acc, (a, x) -> a + x * {}, row)"), "b", "at(0, row)"),
    C(folds.join_reduce, "f does not use acc", ROWS_B,
      NEST.format("reduce(acc, (a, x) -> a + x * {}, row)"), "b", "acc"),
    C(folds.join_reduce, "s does not use acc", ROWS_B,
      NEST.format("reduce(acc, (a, x) -> a + x, map(x -> x * {}, row))"), "b", "acc"),
    C(folds.interchange_reduce, "the inner sum starts from the outer", ROWS_B,
      NEST.format("reduce({}, (a, x) -> a + x, row)"), "acc", "b"),
    C(folds.interchange_reduce, "f is a fold", XSS,
      NEST.format("reduce(acc, (a, x) -> {}, row)"), "a + x", "x - a"),
    C(folds.interchange_reduce, "f does not use x", ROWS_B,
      NEST.format("reduce(acc, (a, x) -> a + x * {}, row)"), "b", "at(0, row)"),
    C(folds.interchange_reduce, "f does not use acc", ROWS_B,
      NEST.format("reduce(acc, (a, x) -> a + x * {}, row)"), "b", "acc"),
    C(folds.interchange_reduce, "s does not use acc", ROWS_B,
      NEST.format("reduce(acc, (a, x) -> a + x, map(x -> x * {}, row))"), "b", "acc"),
    C(captures.carry, "f uses x", WITH_B, SUM.format("acc + x * {}"), "b", "2.0", {"x": B}),
    C(captures.carry, "x is no number", WITH_B, SUM.format("acc + x * b * 2.0"),
      {"x": B}, {"x": Lit(2.0, FLOAT)}),
    C(captures.carry, "x is of outside", WITH_B, SUM.format("acc + x * b"),
      {"x": B}, {"x": Var("acc", FLOAT)}),
    C(captures.carry, "x stands in f", WITH_B, SUM.format("acc + x * b"),
      {"x": B}, {"x": MINUS_B}),
    C(folds.flatten_fold, "the inner fold starts from the unit", XSS,
      NEST.format("acc + reduce({}, (a, x) -> a + x, row)"), "0.0", "1.0"),
    C(folds.flatten_fold, "both have one operator", XSS,
      NEST.format("acc + reduce(0.0, (a, x) -> {}, row)"), "a + x", "max(a, x)"),
    C(folds.flatten_fold, "the inner is a fold", XSS,
      NEST.format("acc + reduce(0.0, (a, x) -> {}, row)"), "a + x", "x - a"),
    C(folds.flatten_fold, "the outer is a fold", XSS,
      NEST.format("acc {} reduce(0.0, (a, x) -> a + x, row)"), "+", "-"),
    C(folds.flatten_fold, "what is folded is a reduction", XSS, NEST.format("acc + {}"),
      "reduce(0.0, (a, x) -> a + x, row)", "at(0, row)"),
    C(folds.absorb_init, "the fold starts from its unit", WITH_B,
      "reduce({}, (acc, x) -> acc + x, xs) + b", "0.0", "1.0"),
    C(folds.absorb_init, "b is added with the fold's operator", WITH_B,
      SUM.format("acc + x") + " {} b", "+", "*"),
    C(folds.absorb_init, "all folds of a nest are of one sum", ROWS_B,
      NEST.format("reduce({}, (a, x) -> a + x, row)") + " + b", "acc", "0.0"),
    C(folds.absorb_init, "b is not computed", WITH_B, SUM.format("acc + x") + " + {}", "b", "(-b)"),
    C(folds.absorb_init, "b is of the fold's type", "is : [int]6, i : int, b : float",
      "reduce(0, (acc, x) -> acc + x, is) + {}", "i", "b"),
    C(folds.release_init, "z is not the unit", XS, "reduce({}, (acc, x) -> acc + x, xs)",
      "1.0", "0.0"),
    C(folds.release_init, "f is a fold", XS, "reduce(1.0, (acc, x) -> {}, xs)",
      "x + acc", "x - acc"),
    C(folds.zip_joins, "rows are of one length", "a : [[float]3]2, b : [[float]2]3",
      "zip(join(a), join({}))", "a", "b"),
    C(folds.zip_joins, "a part is a join", XS, "zip({}, xs)", "join(split(2, xs))", "xs"),
    C(folds.interchange_map_reduce, "f does not use x", ROWS_B,
      "map(row -> reduce(0.0, (acc, x) -> acc + x * {}, row), xss)", "b", "at(0, row)"),
    C(folds.interchange_reduce_map, "f does not use acc", f"{ROW_Z}, b : float",
      "reduce(z, (acc, row) -> map((a, x) -> a + x * {}, zip(acc, row)), xss)",
      "b", "at(0, acc)"),
    C(folds.interchange_reduce_map, "other parts do not use acc", f"{ROW_Z}, b : float",
      "reduce(z, (acc, row) -> map((a, x) -> a + x, zip(acc, map(y -> y * {}, row))), xss)",
      "b", "at(0, acc)"),
    C(folds.interchange_reduce_map, "the map goes over acc", ROW_Z,
      "reduce(z, (acc, row) -> map((a, x) -> a + x, zip({}, row)), xss)", "acc", "z"),
    C(folds.partial_reduce, "k divides n", XS, SUM.format("acc + x"), {"k": 3}, {"k": 4}),
    C(folds.partial_reduce, "f is a fold", XS, SUM, "x + acc", "acc - x", {"k": 2}),
    C(folds.partial_reduce, "f folds acc, not what hides it", XS, SUM,
      "(let! y = x * x  acc + y)", HIDDEN, {"k": 2}),
    C(folds.partial_reduce, "all folds of a nest are of one sum", XSS,
      NEST.format("reduce({}, (a, x) -> a + x, row)"), "acc", "0.0", {"k": 1}),
    C(folds.reorder_fold, "s divides n", XS, SUM.format("acc + x"), {"s": 2}, {"s": 4}),
    C(folds.reorder_fold, "f is a fold", XS, SUM, "x + acc", "x - acc", {"s": 2}),
    C(folds.reorder_fold, "f folds acc, not what hides it", XS, SUM,
      "(let! y = x * x  acc + y)", HIDDEN, {"s": 2}),
    C(folds.stride_parts, "the parts are summed up", XS,
      PARTS.format("{}", "x", "0.0", "a + x", "c", "2", "xs"), "+", "-"),
    C(folds.stride_parts, "as they are", XS,
      PARTS.format("+", "{}", "0.0", "a + x", "c", "2", "xs"), "x", "2.0 * x"),
    C(folds.stride_parts, "a part starts from the unit", XS,
      PARTS.format("+", "x", "{}", "a + x", "c", "2", "xs"), "0.0", "1.0"),
    C(folds.stride_parts, "both have one operator", XS,
      PARTS.format("+", "x", "0.0", "{}", "c", "2", "xs"), "a + x", "max(a, x)"),
    C(folds.stride_parts, "a part is a sum of all of its chunk", XS,
      PARTS.format("+", "x", "0.0", "a + x", "{}", "2", "xs"), "c", "pad(-1, 0, 0.0, c)"),
    C(folds.stride_parts, "what is summed does not use the chunk", WITH_B,
      PARTS.format("+", "x", "0.0", "a + x * {}", "c", "2", "xs"), "b", "at(0, c)"),
    C(folds.stride_parts, "there are two parts or more", XS,
      PARTS.format("+", "x", "0.0", "a + x", "c", "{}", "xs"), "2", "6"),
    C(folds.stride_parts, "all parts of a zip are in chunks", f"{BOTH}, pss : [[float]2]3",
      "reduce(0.0, (acc, x) -> acc + x, map(c -> reduce(0.0, (a, (x, y)) -> a + x * y, "
      "zip(c.0, c.1)), zip(split(2, xs), {})))", "split(2, ys)", "pss"),
    C(units.round_fold, "k does not divide n", XS, SUM.format("acc + x"), {"k": 4}, {"k": 3}),
    C(units.round_fold, "what f adds of units is one", XS, SUM, "acc + x * x", "acc + exp(x)",
      {"k": 4}),
    C(units.round_fold, "which the unit of a maximum need not be", XS, SUM,
      "max(acc, x)", "max(acc, x * x)", {"k": 4}),
    C(units.round_fold, "f is a fold", XS, SUM, "x + acc", "x - acc", {"k": 4}),
    C(units.round_fold, "f looks at nothing else", WITH_B, SUM, "acc + x * 2.0", "acc + x * b",
      {"k": 4}),
    C(units.round_fold, "each part has a unit", f"{BOTH}, ps : [(float, float)]6",
      "reduce(0.0, (acc, (x, y)) -> acc + x, zip(xs, {}))", "ys", "ps", {"k": 4}),
    C(units.round_fold, "rows of units make one", XSS, NEST,
      "reduce(acc, (a, x) -> a + x * x, row)", "reduce(acc, (a, x) -> a + exp(x), row)", {"k": 4}),
    C(units.round_fold, "rows go on from what there is", XSS, NEST,
      "reduce(acc, (a, x) -> a + x, row)", "reduce(0.0, (a, x) -> a + x, row)", {"k": 4}),
]  # fmt: skip

VECTORS = [
    C(vectors.vectorize_map, "v divides n", XS, "map(x -> -x, xs)", {"v": 3}, {"v": 4}),
    C(vectors.vectorize_map, "a result is made of x", XS, "map(x -> {}, xs)", "-x", "1.0",
      {"v": 2}),
    C(vectors.vectorize_map, "each part of it", XS, "map(x -> (x, {}), xs)", "-x", "1.0",
      {"v": 2}),
    C(vectors.vectorize_map, "f makes no vectors", "xss : [[float]4]2",
      "map(row -> {}, xss)", "split(2, row)", "asVector(2, row)", {"v": 2}),
    C(vectors.partial_reduce_vector, "k divides n", XS, SUM.format("acc + x"),
      {"k": 6, "v": 2}, {"k": 4, "v": 2}),
    C(vectors.partial_reduce_vector, "v divides k", XS, SUM.format("acc + x"),
      {"k": 6, "v": 2}, {"k": 6, "v": 4}),
    C(vectors.partial_reduce_vector, "f is a fold", XS, SUM, "x + acc", "x - acc",
      {"k": 6, "v": 2}),
    C(vectors.partial_reduce_vector, "what is folded is made of x", XS, SUM,
      "acc + x", "acc + 1.0", {"k": 6, "v": 2}),
    C(vectors.partial_reduce_vector, "f makes no vectors", XSS, NEST,
      "acc + at(0, row)", "acc + at(0, asScalar(asVector(3, row)))", {"k": 2, "v": 2}),
]  # fmt: skip

LETS = [
    C(lets.let_out, "the let is not what another is for", XS, "let! y = {} y",
      "(let! w = at(0, xs) w * w)", "at(0, xs)"),
    C(lets.let_out_of_map, "the value does not use y", ROWS_B,
      "map(row -> (let! y = -{} y + y), xss)", "b", "at(0, row)"),
    C(lets.inline_once, "x is used once", "x : float", "let! y = -x {}", "y", "y + y"),
    C(lets.inline_once, "not in a loop", XS, "let! y = -at(0, xs) map(x -> {})",
      "-x, [y]", "x + y, xs"),
    C(lets.drop_let, "x is not used", "x : float", "let! y = -x {}", "x", "x + y"),
    C(lets.let_view, "what is viewed is made real", XSS, "let! y = transpose({}) transpose(y)",
      "toLocal(xss)", "xss"),
    C(lets.let_view, "nothing is computed above it", XSS,
      "let! y = map(r -> {}, toLocal(xss)) transpose(y)",
      "reorder(i -> 2 - i, r)", "map(x -> -x, r)"),
    C(out.let_made, "nothing else of x is used", "x : float", "let! y = -x y * x + {}",
      "y * x", "y", {"term": Binary("*", Y, X)}),
    C(out.let_made, "the term uses x", "x : float", "let! y = -x y * x",
      {"term": Binary("*", Y, X)}, {"term": X}),
    C(out.let_made, "and nothing that is bound inside", WITH_B, "let! y = -b map(x -> y * {}, xs)",
      ("b", {"term": Binary("*", Y, B)}), ("x", {"term": Binary("*", Y, X)})),
]  # fmt: skip

HOISTS = [
    C(out.hoist, "the term is of one part", BOTH, "map((x, y) -> {} + y, zip(xs, ys))",
      ("x * x", {"term": SQUARE}), ("x * y", {"term": TIMES})),
    C(out.hoist, "the term is there", XS, "map(x -> x * x, xs)",
      {"term": SQUARE}, {"term": Unary("neg", X)}),
    C(out.hoist, "the term does not use acc", XS, SUM,
      ("acc + x * x", {"term": SQUARE}),
      ("acc + x * acc", {"term": Binary("*", X, Var("acc", FLOAT))})),
    C(out.before_view, "f 0 = 0, where zeros are added", XSS,
      ABOVE.format("{}", "pad(1, 1, 0.0, xss)"), "x * x", "x + 1.0", {"levels": 2}),
    C(out.before_view, "which is known of f alone", ROWS_B,
      ABOVE.format("{}", "pad(1, 1, 0.0, xss)"), "x * x", "x * b", {"levels": 2}),
    C(out.before_view, "rows are as they are", "xss : [[float]3]3",
      "map(r -> map(x -> x * x, r), {})", "pad(1, 1, 0.0, xss)", "transpose(xss)", {"levels": 1}),
    C(out.before_view, "zeros are not beside chunks", XS,
      "map(c -> map(x -> x * x, c), map(c -> {}, split(2, xs)))",
      "c", "pad(0, 1, 0.0, c)", {"levels": 2}),
    C(out.before_view, "nor beside windows", XS,
      "map(c -> map(x -> x * x, c), map(c -> {}, slide(2, 1, xs)))",
      "c", "pad(0, 1, 0.0, c)", {"levels": 2}),
    C(out.before_view, "there is a view", XS, "map(x -> x * x, {})",
      "pad(1, 1, 0.0, xs)", "xs", {"levels": 1}),
    C(out.before_view, "each map goes over what the one around it has", XSS + ", z : [float]3",
      "map(r -> map(x -> x * x, {}), pad(1, 1, 0.0, xss))", "r", "z", {"levels": 2}),
    C(out.before_view, "levels is 1 or more", XSS,
      "map(r -> map(x -> x * x, r), pad(1, 1, 0.0, xss))", {"levels": 2}, {"levels": 0}),
    *(
        condition
        for rule, made in ((out.store_as, "store"), (out.local_as, "toLocal"))
        for condition in (
            C(rule, "each dimension once", XSS, "xss", {"order": (1, 0)}, {"order": (0, 0)}),
            C(rule, "all of them", XSS, "xss", {"order": (1, 0)}, {"order": (0,)}),
            C(rule, "it is not made real already", XSS, "{}", "xss", f"{made}(xss)",
              {"order": (1, 0)}),
        )
    ),
]  # fmt: skip

CONDITIONS = [*LOWER, *MAPS, *REDUCTIONS, *VECTORS, *LETS, *HOISTS]
