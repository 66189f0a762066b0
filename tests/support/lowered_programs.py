"""The texts of lowered programs by name: for every kind of nest, copy, view and guard one, whose
name says what it is for."""

PROGRAMS: dict[str, str] = {
    "stencil": """
f(xs : [float]N) =
  mapGlobal(0)(w -> reduceSeq(0.0, (acc, x) -> acc + x, w), slide(3, 1, pad(1, 1, 0.0,
  xs)))
where N = 20
""",
    "guard of whole loops": """
f(rows : [[float]C]N) =
  mapWorkgroup(0)(w -> reduceSeq(0.0, (acc, row) ->
  reduceSeq(acc, (a, x) -> a + x, row), w), slide(3, 1, pad(1, 1, generate(C, i -> 0.0), rows)))
where N = 20, C = 16
""",
    "guard of whole loops, by items": """
f(rows : [[float]C]N) =
  mapGlobal(0)(w -> reduceSeq(0.0, (acc, row) ->
  reduceSeq(acc, (a, x) -> a + x, row), w), slide(3, 1, pad(1, 1, generate(C, i -> 0.0), rows)))
where N = 20, C = 16
""",
    "guard that varies in the loop": """
f(xs : [float]N) =
  mapWorkgroup(0)(w -> reduceSeq(0.0, (acc, x) -> acc + x, w), slide(20, 1, pad(5, 5, 0.0, xs)))
where N = 20
""",
    "stencil tiled": """
f(xs : [float]N) =
  join(mapWorkgroup(0)(tile ->
  let t = toLocal(mapLocal(0)(x -> x, tile)) mapLocal(0)(w -> reduceSeq(0.0, (acc, x) ->
  acc + x, w), slide(3, 1, t)), slide_strict(10, 8, pad(1, 1, 0.0, xs))))
where N = 32
""",
    "transpose": """
f(xs : [[float]N]M) =
  mapGlobal(1)(r -> mapGlobal(0)(x -> x, r), transpose(xs))
where N = 6, M = 10
""",
    "transpose out": """
f(xs : [[float]N]M) =
  transpose(mapGlobal(1)(r -> mapGlobal(0)(x -> x, r), xs))
where N = 6, M = 10
""",
    "pad_clamp": """
f(xs : [float]N) =
  mapGlobal(0)(x -> x, pad_clamp(4, 9, xs))
where N = 10
""",
    "crop pad_clamp": """
f(xs : [float]N) =
  mapGlobal(0)(x -> x, pad_clamp(-2, 5, xs))
where N = 10
""",
    "pad_mirror": """
f(xs : [float]N) =
  mapGlobal(0)(x -> x, pad_mirror(4, 9, xs))
where N = 10
""",
    "crop pad_mirror": """
f(xs : [float]N) =
  mapGlobal(0)(x -> x, pad_mirror(-2, 5, xs))
where N = 10
""",
    "pad_wrap": """
f(xs : [float]N) =
  mapGlobal(0)(x -> x, pad_wrap(4, 9, xs))
where N = 10
""",
    "crop pad_wrap": """
f(xs : [float]N) =
  mapGlobal(0)(x -> x, pad_wrap(-2, 5, xs))
where N = 10
""",
    "pad_wrap far": """
f(xs : [float]N) =
  mapGlobal(0)(x -> x, pad_wrap(14, 9, xs))
where N = 10
""",
    "concat": """
f(xs : [float]N, ys : [float]M) =
  mapGlobal(0)(x -> x + 1, concat(xs, ys))
where N = 10, M = 7
""",
    "concat out": """
f(xs : [float]N, ys : [float]M) =
  concat(mapGlobal(0)(x -> x + 1, xs), mapGlobal(0)(x -> x * 2, ys))
where N = 10, M = 7
""",
    "reorder": """
f(xs : [float]N) =
  mapGlobal(0)(x -> x, reorder(stride(4), xs))
where N = 20
""",
    "reorder out": """
f(xs : [float]N) =
  reorder(stride(4), mapGlobal(0)(x -> x * 2, xs))
where N = 20
""",
    "reverse out": """
f(xs : [float]N) =
  reorder(i -> N - 1 - i, mapGlobal(0)(x -> x * 2, xs))
where N = 20
""",
    "rotate out": """
f(xs : [float]N) =
  reorder(i -> (i + 3) % N, mapGlobal(0)(x -> x * 2, xs))
where N = 20
""",
    "vectors": """
f(xs : [float]N, ys : [float]N) =
  asScalar(mapGlobal(0)(vectorized ((x, y) -> x * y + 1), asVector(4, zip(xs, ys))))
where N = 24
""",
    "vectors crop": """
f(xs : [float]N) =
  pad(0, -3, 0.0, asScalar(mapGlobal(0)(vectorized (x -> x * 2), asVector(4, pad(0, 3,
  0.0, xs)))))
where N = 21
""",
    "vectors rows": """
f(xs : [[float]N]M) =
  map(r -> asScalar(r), mapGlobal(1)(r -> mapGlobal(0)(vectorized (x -> x * 2),
  asVector(4, r)), xs))
where N = 8, M = 5
""",
    "vectors strided": """
f(xs : [[float]N]M) =
  map(r -> asScalar(r), mapGlobal(1)(r -> mapGlobal(0)(vectorized (x -> x * 2),
  asVector(4, r)), transpose(xs)))
where N = 8, M = 12
""",
    "vectors strided out": """
f(xs : [[float]N]M) =
  transpose(map(r -> asScalar(r), mapGlobal(1)(r -> mapGlobal(0)(vectorized (x -> x * 2),
  asVector(4, r)), xs)))
where N = 8, M = 12
""",
    "vector three": """
f(xs : [float]N) =
  asScalar(mapGlobal(0)(vectorized (x -> x * 2), asVector(3, xs)))
where N = 24
""",
    "vector of pairs": """
f(xs : [float]N, ys : [float]N) =
  asScalar(mapGlobal(0)(vectorized ((x, y) -> max(x, y)), zip(asVector(8, xs),
  asVector(8, ys))))
where N = 32
""",
    "dot vector": """
f(xs : [float]N, ys : [float]N) =
  mapGlobal(0)(r -> reduceSeq(0.0, (a, x) -> a + x, asScalar(generate(1, i ->
  reduceSeq(0.0, (acc, (x, y)) -> acc + x * y, asVector(4, r))))), split(N, zip(xs, ys)))
where N = 32
""",
    "tuple acc": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r ->
  let (m, s) = reduceSeq((-100.0, 0.0), (a, x) -> (max(a.0, x), a.1 + a.0 * x), r) m + s,
  xs)
where N = 6, M = 5
""",
    "tuple acc swapped": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r ->
  let (m, s) = reduceSeq((1.0, 0.0), (a, x) -> (a.1, a.0 + x), r) m * 3 + s, xs)
where N = 7, M = 5
""",
    "second buffer": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r -> reduceSeq(generate(4, i -> i + 0.0), (acc, x) -> mapSeq((p, q) -> p +
  q * x, zip(acc, reorder(i -> (i + 1) % 4, acc))), r), xs)
where N = 3, M = 5
""",
    "second buffer unrolled": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r -> reduceSeq(generate(4, i -> i + 0.0), (acc, x) -> unrolled mapSeq((p,
  q) -> p + q * x, zip(acc, reorder(i -> 3 - i, acc))), r), xs)
where N = 3, M = 5
""",
    "acc transposed": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r -> reduceSeq(generate(3, i -> generate(3, j -> i * 3 + j + 0.0)), (acc,
  x) -> mapSeq(row -> mapSeq(p -> p + x, row), transpose(acc)), r), xs)
where N = 3, M = 5
""",
    "acc sum of all": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r -> reduceSeq(generate(3, i -> i + 0.0), (acc, x) -> mapSeq(p -> p +
  reduceSeq(0.0, (s, q) -> s + q, acc) * x, acc), r), xs)
where N = 2, M = 5
""",
    "nested reduce in place": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r -> reduceSeq(0.0, (acc, c) -> reduceSeq(acc, (a, x) -> a + x, c),
  split(2, r)), xs)
where N = 6, M = 5
""",
    "split sum": """
f(xs : [float]N) =
  let partial = store(mapGlobal(0)(c -> reduceSeq(0.0, (a, x) -> a + x, c), split(8,
  xs))) mapGlobal(0)(c -> reduceSeq(0.0, (a, x) -> a + x, c), split(4, partial))
where N = 32
""",
    "im2col": """
f(xs : [float]N, w : [float]3) =
  let cols = store(mapGlobal(0)(w -> mapSeq(x -> x, w), slide(3, 1, pad(1, 1, 0.0, xs))))
  mapGlobal(0)(c -> reduceSeq(0.0, (a, (x, y)) -> a + x * y, zip(c, w)), cols)
where N = 32
""",
    "prepack": """
f(const w : [[float]N]M, xs : [float]N) =
  mapGlobal(0)(c -> reduceSeq(0.0, (a, (x, y)) -> a + x * y, zip(c, xs)),
  transpose(store(mapGlobal(1)(r -> mapGlobal(0)(x -> x, r), transpose(w)))))
where N = 12, M = 8
""",
    "three kernels share": """
f(xs : [float]N) =
  let a = store(mapGlobal(0)(x -> x + 1, xs))
  let b = store(mapGlobal(0)(x -> x * 2, a))
  let c = store(mapGlobal(0)(x -> x - 3, b)) mapGlobal(0)(x -> x + 5, c)
where N = 32
""",
    "shared lets": """
f(xs : [[float]N]M, ws : [[float]N]K) =
  mapWorkgroup(0)(rows ->
  let x = toLocal(mapLocal(0)(r -> mapSeq(v -> v, r), rows))
  let w = toLocal(mapLocal(0)(r -> mapSeq(v -> v, r), ws)) mapLocal(0)(r -> mapSeq(k ->
  reduceSeq(0.0, (a, (p, q)) -> a + p * q, zip(r, k)), w), x), split(4, xs))
where N = 6, M = 12, K = 5
""",
    "guarded local": """
f(xs : [[float]N]M) =
  mapWorkgroup(0)(r ->
  let t = toLocal(mapLocal(0)(x -> x * 2, r))
  let u = toLocal(mapLocal(0)(w -> reduceSeq(0.0, (a, x) -> a + x, w), slide(3, 1, t)))
  mapLocal(0)(w -> reduceSeq(0.0, (a, x) -> a + x, w), slide(3, 1, u)), xs)
where N = 21, M = 4
""",
    "strided local": """
f(xs : [[float]N]M) =
  mapWorkgroup(0)(r ->
  let t = toLocal(mapLocal(0)(x -> x * 2, r)) mapLocal(0)(w -> reduceSeq(0.0, (a, x) -> a
  + x, w), slide(3, 1, t)), xs)
where N = 601, M = 4
""",
    "private share": """
f(xs : [[float]N]M) =
  mapWorkgroup(0)(r ->
  let t = mapLocal(0)(x -> x * 2, r) mapLocal(0)((x, y) -> x + y, zip(t, r)), xs)
where N = 301, M = 4
""",
    "barrier in guard": """
f(xs : [[[float]N]K]M) =
  mapWorkgroup(0)(p -> mapLocal(1)(r ->
  let t = toLocal(mapLocal(0)(x -> x * 2, r)) mapLocal(0)(w -> reduceSeq(0.0, (a, x) -> a
  + x, w), slide(3, 1, t)), p), xs)
where N = 12, M = 4, K = 70
""",
    "barrier in loop": """
f(xs : [[float]N]M) =
  mapWorkgroup(0)(r -> mapSeq(c ->
  let t = toLocal(mapLocal(0)(x -> x * 2, c)) mapLocal(0)(x -> x + 1, reorder(i -> 4 - 1
  - i, t)), split(4, r)), xs)
where N = 12, M = 4
""",
    "group alone": """
f(xs : [[float]N]M) =
  mapWorkgroup(0)(r ->
  let t = toLocal(mapSeq(x -> x * 2, r)) mapSeq(x -> x + 1, t), xs)
where N = 12, M = 4
""",
    "once in group": """
f(xs : [[float]N]M) =
  mapWorkgroup(0)(r ->
  let t = toLocal(mapSeq(x -> x * 2, r)) mapLocal(0)(x -> x + 1, t), xs)
where N = 12, M = 4
""",
    "one writer": """
f(xs : [[float]N]M) =
  mapWorkgroup(0)(r -> concat(mapSeq(x -> x * 2, r), mapLocal(0)(x -> x + 1, r)), xs)
where N = 12, M = 4
""",
    "local reuse": """
f(xs : [[float]N]M) =
  mapWorkgroup(0)(r ->
  let a = toLocal(mapLocal(0)(x -> x * 2, r))
  let b = toLocal(mapLocal(0)(x -> x + 1, reorder(i -> N - 1 - i, a)))
  let c = toLocal(mapLocal(0)(x -> x * 3, reorder(i -> (i + 1) % N, b))) mapLocal(0)(x ->
  x, reorder(i -> N - 1 - i, c)), xs)
where N = 16, M = 4
""",
    "ints": """
f(xs : [int]N) =
  mapGlobal(0)(x -> (x / 2) * 10 + x % 2 + abs(x) + max(x, 1), xs)
where N = 20
""",
    "int vectors": """
f(xs : [int]N) =
  asScalar(mapGlobal(0)(vectorized (x -> (x / 2) * 10 + x % 2 + abs(x)), asVector(4, xs)))
where N = 20
""",
    "generate": """
f(xs : [float]N) =
  mapGlobal(0)((x, i) -> x + i, zip(xs, generate(N, i -> i * i - 3)))
where N = 20
""",
    "scalar out": """
f(xs : [float]N, s : float) =
  reduceSeq(s, (a, x) -> a + x, xs)
where N = 20
""",
    "functions": """
f(xs : [float]N) =
  mapGlobal(0)(x -> exp(x) + sqrt(abs(x)) + tanh(x) - log(abs(x) + 1) / 2, xs)
where N = 20
""",
    "choices": """
f(xs : [float]N, hs : [half]N, is : [int]N, cs : [char]N, ls : [long]N, s : float) =
  mapGlobal(0)((x, h, i, c, l) ->
      select(x > s, x, 2.0 * x) + select(i & 1 == 0, h, 0.5) + select((c >= 2) & (l < 3), c, i) +
      select(l != 1, x, h) + (x <= h) + (l == 2) + select(i < c, c, c) + select(s > 1, x, 1.0),
    zip(xs, hs, is, cs, ls))
where N = 20
""",
    "choices in vectors": """
f(xs : [float]N, hs : [half]N, is : [int]N, cs : [char]N, ls : [long]N, s : float) =
  asScalar(mapGlobal(0)(vectorized (x, h, i, c, l) ->
      select(x > s, x, 2.0 * x) + select(i & 1 == 0, h, 0.5) + select((c >= 2) & (l < 3), c, i) +
      select(l != 1, x, h) + (x <= h) * i + (l == 2) + select(i < c, c, c) + select(s > 1, x, 1.0) +
      select(x < 0, 1.0, 2.0) + select(h > s, l, i),
    zip(asVector(4, xs), asVector(4, hs), asVector(4, is), asVector(4, cs), asVector(4, ls))))
where N = 20
""",
    "an index of the largest": """
f(xs : [[float]C]N) =
  mapGlobal(0)(row ->
      reduceSeq((at(0, row), 0), (best, (x, i)) -> select(x > best.0, (x, i), best),
        zip(row, generate(C, i -> i))),
    xs)
where N = 9, C = 7
""",
    "a mask by places": """
f(xs : [[float]N]N) =
  mapGlobal(0)((row, i) -> mapSeq((x, j) -> select(j <= i, x, -1.0), zip(row, generate(N, j -> j))),
    zip(xs, generate(N, i -> i)))
where N = 9
""",
    "roots of unity": """
f(xs : [float]N) =
  mapGlobal(0)(x -> reduceSeq(0.0, (a, i) -> a + cospi(x * 0.5) * sinpi(i * 0.5),
    generate(2, i -> i)), xs)
where N = 20
""",
    "known numbers": """
f(xs : [float]N) =
  mapGlobal(0)(x -> unrolled reduceSeq(x, (a, i) -> a + cospi(i * 0.5) * x - sinpi(i * 0.5),
    generate(7, i -> i)), xs)
where N = 20
""",
    "delayed under slide": """
f(xs : [float]N) =
  mapGlobal(0)(w -> reduceSeq(0.0, (a, x) -> a + x, w), slide(3, 1, map(x -> x * x, xs)))
where N = 20
""",
    "delayed reduce under slide": """
f(xs : [[float]M]N) =
  mapGlobal(0)(w -> reduceSeq(0.0, (a, x) -> a + x, w), slide(3, 1, map(r -> reduce(0.0,
  (a, x) -> a + x, r), xs)))
where N = 20, M = 4
""",
    "pad of reduce": """
f(xs : [[float]M]N) =
  mapGlobal(0)(w -> reduceSeq(0.0, (a, x) -> a + x, w), slide(3, 1, pad(1, 1, 0.0, map(r
  -> reduce(0.0, (a, x) -> a + x, r), xs))))
where N = 20, M = 4
""",
    "vector of reduce": """
f(xs : [[float]M]N) =
  asScalar(mapGlobal(0)(vectorized (x -> x * 2), asVector(4, map(r -> reduce(0.0, (a, x)
  -> a + x, r), xs))))
where N = 20, M = 4
""",
    "pad out": """
f(xs : [float]N) =
  pad(2, 3, 7.0, mapGlobal(0)(x -> x * 2, xs))
where N = 20
""",
    "pad and crop out": """
f(xs : [float]N) =
  pad(2, -3, 7.0, mapGlobal(0)(x -> x * 2, xs))
where N = 20
""",
    "group acc straight out": """
f(xs : [[[float]N]K]M) =
  mapWorkgroup(0)(p -> reduceSeq(mapLocal(0)(i -> 0.0, generate(N, i -> i)), (acc, r) ->
  mapLocal(0)((a, x) -> a + x, zip(acc, r)), p), xs)
where N = 12, M = 4, K = 5
""",
    "init without maps": """
f(xs : [[[float]N]K]M) =
  mapWorkgroup(0)(p -> reduceSeq(generate(N, i -> i + 0.0), (acc, r) -> mapLocal(0)((a,
  x) -> a + x, zip(acc, r)), p), xs)
where N = 12, M = 4, K = 5
""",
    "epilogue": """
f(xs : [[[float]N]K]M, b : [float]N) =
  mapWorkgroup(0)(p -> mapLocal(0)((a, y) -> max(a + y, 0.0), zip(reduceSeq(generate(N, i
  -> i + 0.0), (acc, r) -> mapLocal(0)((a, x) -> a + x, zip(acc, r)), p), b)), xs)
where N = 12, M = 4, K = 5
""",
    "sequential epilogue": """
f(xs : [[[float]N]K]M) =
  mapGlobal(0)(p -> mapSeq(a -> max(a, 0.0), reduceSeq(generate(N, i -> i + 0.0), (acc,
  r) -> mapSeq((a, x) -> a + x, zip(acc, r)), p)), xs)
where N = 12, M = 4, K = 5
""",
    "ahead": """
f(xs : [[[float]N]K]M) =
  mapWorkgroup(0)(p -> reduceSeq(generate(N, i -> 0.0), (acc, r) ->
  let t = toLocalAhead(mapLocal(0)(x -> x * 2, r)) mapLocal(0)((a, x) -> a + x, zip(acc,
  reorder(i -> N - 1 - i, t))), p), xs)
where N = 12, M = 4, K = 5
""",
    "ahead guarded": """
f(xs : [[[float]N]K]M) =
  mapWorkgroup(0)(p -> reduceSeq(generate(10, i -> 0.0), (acc, r) ->
  let t = toLocalAhead(mapLocal(0)(x -> x * 2, r)) mapLocal(0)((a, w) -> a +
  reduceSeq(0.0, (s, x) -> s + x, w), zip(acc, slide(3, 1, t))), p), xs)
where N = 12, M = 4, K = 5
""",
    "ahead strided": """
f(xs : [[[float]N]K]M) =
  mapWorkgroup(0)(p -> reduceSeq(generate(N, i -> 0.0), (acc, r) ->
  let t = toLocalAhead(mapLocal(0)(x -> x * 2, r))
  let u = toLocalAhead(mapLocal(0)(x -> x + 2, r)) mapLocal(0)((a, (x, y)) -> a + x * y,
  zip(acc, zip(reorder(i -> N - 1 - i, t), u))), p), xs)
where N = 601, M = 3, K = 5
""",
    "two dims with copies": """
f(xs : [[float]N]M) =
  map(r -> join(r), mapWorkgroup(1)(r -> mapWorkgroup(0)(c -> mapLocal(0)(x -> x + 1, c),
  split(4, r)), xs))
where N = 12, M = 4
""",
    "tiles": """
f(xs : [[float]N]M) =
  join(map(b -> map(r -> join(r), transpose(b)), mapWorkgroup(1)(b -> mapWorkgroup(0)(t
  -> mapLocal(1)(r -> mapLocal(0)(x -> x + 1, r), t), transpose(map(r -> split(4, r),
  b))), split(2, xs))))
where N = 12, M = 8
""",
    "at and let": """
f(xs : [[float]N]M) =
  mapGlobal(0)(c ->
  let a = at(0, c)
  let b = at(M - 1, c) a * a + b * b * a, transpose(xs))
where N = 6, M = 4
""",
    "unused private array": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r ->
  let p = toPrivate(mapSeq(x -> x * 2, r)) reduceSeq(0.0, (a, w) -> a + reduceSeq(0.0,
  (b, x) -> b + x, w), slide(2, 1, p)), xs)
where N = 6, M = 4
""",
    "unrolled private array": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r ->
  let p = toPrivate(unrolled mapSeq(x -> x * 2, r)) unrolled reduceSeq(0.0, (a, w) -> a +
  unrolled reduceSeq(0.0, (b, x) -> b + x, w), slide(2, 1, p)), xs)
where N = 6, M = 4
""",
    "private vectors": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r ->
  let p = toPrivate(asScalar(mapSeq(vectorized (x -> x * 2), asVector(4, r))))
  reduceSeq(0.0, (a, w) -> a + reduceSeq(0.0, (b, x) -> b + x, w), slide(2, 1, p)), xs)
where N = 8, M = 4
""",
    "lanes of computed": """
f(xs : [[float]N]M) =
  mapGlobal(0)(r -> reduceSeq(0.0, (a, x) -> a * 2 + x, asScalar(mapSeq(vectorized (x ->
  x * 2), asVector(4, r)))), xs)
where N = 8, M = 4
""",
    "all of nothing lowered": """
f(xs : [[float]N]M) =
  map(r -> reduce(0.0, (a, x) -> a + x, map(x -> x * x, r)), xs)
where N = 8, M = 4
""",
    "copy": """
f(xs : [[float]N]M) =
  transpose(xs)
where N = 8, M = 4
""",
    "tuples in local": """
f(xs : [[float]N]M) =
  mapWorkgroup(0)(r ->
  let t = toLocal(mapLocal(0)(x -> (x, x * 2), r)) mapLocal(0)((a, b) -> a - b, reorder(i
  -> N - 1 - i, t)), xs)
where N = 12, M = 4
""",
    "global dims idle": """
f(xs : [[float]N]M) =
  concat(mapGlobal(0)(r -> reduceSeq(0.0, (a, x) -> a + x, r), xs), join(mapGlobal(1)(r
  -> mapGlobal(0)(x -> x, r), xs)))
where N = 12, M = 4
""",
    "groups of several lengths": """
f(xs : [[float]N]M) =
  concat(mapWorkgroup(0)(r -> reduceSeq(0.0, (a, x) -> a + x, r), xs), mapWorkgroup(0)(r
  -> reduceSeq(0.0, (a, x) -> a + x, r), transpose(xs)))
where N = 12, M = 4
""",
    "conv lanes": """
conv(const weights : [[[float]3]C]M, image : [[float]W]C) =
  let packed = store(mapGlobal(1)(b -> mapGlobal(0)(c -> mapSeq(k -> mapSeq(x -> x, k),
  c), b), map(b -> map(c -> transpose(c), transpose(b)), split(16, weights))))
  let padded = store(mapGlobal(1)(r -> mapGlobal(0)(x -> x, r), map(r -> pad(1, 1, 0.0,
  r), image))) transpose(join(map(t -> map(px -> asScalar(px), t), mapGlobal(1)(block ->
  join(mapGlobal(0)(tile -> transpose(reduceSeq(generate(1, m -> generate(7, p -> 0.0)),
  (acc, (pixels, taps)) -> reduceSeq(acc, (acc2, (k, tap)) -> unrolled mapSeq((row, w) ->
  unrolled mapSeq((a, x) -> a + x * w, zip(row, k)), zip(acc2, asVector(16, tap))),
  zip(slide(7, 1, pixels), taps)), zip(tile, block))), transpose(map(r -> slide_strict(9,
  7, r), padded)))), packed))))
where C = 3, W = 14, M = 32
""",
    "local transpose": """
f(x : [[float]8]8) = mapWorkgroup(0)(blk -> let t = toLocal(mapLocal(1)(r -> mapLocal(0)(v
  -> v, r), blk)) mapLocal(1)(r -> mapLocal(0)(v -> v, r), transpose(t)), split(4, x))
""",
    "tile of pairs": """
f(x : [[float]12]4, y : [[float]12]4) = mapWorkgroup(0)((a, b) -> let s =
  toLocal(mapLocal(0)((u, v) -> (u, v), zip(a, b))) mapLocal(0)(w -> reduceSeq(0.0, (acc, (u,
  v)) -> acc + u * v, w), slide(3, 1, s)), zip(x, y))
""",
    "vectors unaligned": """
f(x : [float]19) = asScalar(mapGlobal(0)(vectorized (v -> v + 1), asVector(4, pad(-3, 0,
  0.0, x))))
""",
    "vectors of slide": """
f(x : [float]20) = mapGlobal(0)(w -> asScalar(mapSeq(vectorized (v -> v * 2), asVector(4,
  w))), slide(8, 3, x))
""",
    "vectors wrap": """
f(x : [float]13) = asScalar(mapGlobal(0)(vectorized (v -> v * 2), asVector(8, pad_wrap(2, 1,
  x))))
""",
    "vector acc global": """
f(x : [[[float]16]5]3) = mapGlobal(0)(m -> asScalar(reduceSeq(generate(4, i -> 0.0), (acc,
  r) -> unrolled mapSeq((a, v) -> a + v, zip(acc, asVector(4, r))), m)), x)
""",
    "unrolled private 2d": """
f(x : [[[float]3]2]5) = mapGlobal(0)(m -> let q = toPrivate(unrolled mapSeq(r -> unrolled
  mapSeq(v -> v * 2, r), m)) unrolled mapSeq(c -> unrolled reduceSeq(0.0, (a, v) -> a + v, c),
  transpose(q)), x)
""",
    "registers outer product": """
f(a : [[float]4]6, b : [[float]3]6) = reduceSeq(generate(4, i -> generate(3, j -> 0.0)),
  (acc, (x, y)) -> unrolled mapSeq((row, u) -> unrolled mapSeq((c, v) -> c + u * v, zip(row,
  y)), zip(acc, x)), zip(a, b))
""",
    "local reduce tree": """
f(x : [[float]16]3) = mapWorkgroup(0)(r -> let a = toLocal(mapLocal(0)((u, v) -> u + v,
  zip(at(0, split(8, r)), at(1, split(8, r))))) let b = toLocal(mapLocal(0)((u, v) -> u + v,
  zip(at(0, split(4, a)), at(1, split(4, a))))) let c = toLocal(mapLocal(0)((u, v) -> u + v,
  zip(at(0, split(2, b)), at(1, split(2, b))))) mapLocal(0)(p -> at(0, p) + at(1, p), split(2,
  c)), x)
""",
    "stored vectors": """
f(x : [float]16) = let s = store(mapGlobal(0)(v -> v * 2, asVector(4, x))) mapGlobal(0)(v ->
  v + 1, reorder(i -> 15 - i, asScalar(s)))
""",
    "prepack pair": """
f(const w : [(float, float)]8, x : [float]8) = let q = store(mapGlobal(0)((a, b) -> (b, a *
  2), w)) mapGlobal(0)(((b, a), v) -> b * v + a, zip(q, x))
""",
    "prepack two": """
f(const w : [float]8, x : [float]8) = let q = store(mapGlobal(0)(a -> a * 2, w)) let r =
  store(mapGlobal(0)(a -> a + 1, reorder(i -> 7 - i, q))) mapGlobal(0)((a, v) -> a * v, zip(r,
  x))
""",
    "nested ahead": """
f(a : [[[[float]8]3]5]4) = mapWorkgroup(0)(m -> reduceSeq(generate(8, i -> 0.0), (acc, rs)
  -> reduceSeq(acc, (acc2, r) -> let t = toLocalAhead(mapLocal(0)(v -> v, r)) mapLocal(0)((c,
  v) -> c + v, zip(acc2, reorder(i -> 7 - i, t))), rs), m), a)
""",
    "local in local dim": """
f(a : [[[float]8]5]4) = mapWorkgroup(0)(m -> mapLocal(1)(r -> let t = toLocal(mapLocal(0)(v
  -> v * v, r)) mapLocal(0)(v -> v, reorder(i -> 7 - i, t)), m), a)
""",
    "local broadcast": """
f(a : [[float]8]4) = mapWorkgroup(0)(r -> let s = toLocal(reduceSeq(0.0, (acc, v) -> acc +
  v, r)) mapLocal(0)(v -> v - s, r), a)
""",
    "global stencil 2d": """
f(x : [[float]9]7) = mapGlobal(1)(rs -> mapGlobal(0)(w -> reduceSeq(0.0, (a, r) ->
  reduceSeq(a, (b, v) -> b + v, r), w), transpose(map(r -> slide(3, 1, r), rs))), slide(3, 1,
  pad2d_mirror(1, x)))
""",
    "crop out 2d": """
f(x : [[float]5]7) = pad(0, -1, generate(5, i -> 0.0), map(r -> pad(0, -3, 0.0, r),
  join(mapWorkgroup(0)(t -> mapLocal(0)(r -> mapSeq(v -> v + 1, r), t), split(4, pad(0, 1,
  generate(8, i -> 0.0), map(r -> pad(0, 3, 0.0, r), x)))))))
""",
    "pad out computed": """
f(x : [float]6, c : float) = pad(1, 2, c * 2, mapGlobal(0)(v -> v + 1, x))
""",
    "zip of results": """
f(x : [float]8, y : [float]8) = mapGlobal(0)((u, v) -> (u + v, u - v), zip(x, y))
""",
    "tuple out two maps": """
f(x : [float]8, y : [[float]3]4) = (mapGlobal(0)(v -> v + 1, x), mapGlobal(1)(r ->
  mapGlobal(0)(v -> v, r), y))
""",
    "concat local": """
f(x : [[float]4]3) = mapWorkgroup(0)(r -> let t = toLocal(concat(mapLocal(0)(v -> v, r),
  mapLocal(0)(v -> v * 2, r))) mapLocal(0)(v -> v, reorder(i -> 7 - i, t)), x)
""",
    "pad local": """
f(x : [[float]4]3) = mapWorkgroup(0)(r -> let t = toLocal(pad(1, 1, 7.0, mapLocal(0)(v -> v,
  r))) mapLocal(0)(w -> reduceSeq(0.0, (a, v) -> a + v, w), slide(3, 1, t)), x)
""",
    "local layout transposed": """
f(x : [[float]4]6) = mapWorkgroup(0)(b -> let t = toLocal(transpose(mapLocal(0)(r ->
  mapSeq(v -> v, r), b))) mapLocal(0)(c -> reduceSeq(0.0, (a, v) -> a + v, c), t), split(3,
  x))
""",
    "private copy of vectors": """
f(x : [[float]8]6) = mapGlobal(0)(r -> let t = toPrivate(asVector(4, r))
  asScalar(mapSeq(vectorized (v -> v * v), t)), x)
""",
    "local scalars read vectors": """
f(x : [[float]16]4) = mapWorkgroup(0)(r -> let t = toLocal(mapLocal(0)(v -> v * 2, r))
  asScalar(mapLocal(0)(vectorized (v -> v + 1), asVector(4, reorder(i -> (i + 4) % 16, t)))),
  x)
""",
    "local 2d then flat": """
f(x : [[[float]6]4]2) = mapWorkgroup(0)(m -> let t = toLocal(mapLocal(1)(r -> mapLocal(0)(v
  -> v, r), m)) mapLocal(0)(v -> v + 1, reorder(i -> 23 - i, join(t))), x)
""",
    "scatter 2d out": """
f(x : [[float]6]4) = transpose(reorder(i -> 3 - i, mapGlobal(1)(r -> reorder(stride(2),
  mapGlobal(0)(v -> v, r)), x)))
""",
    "lift listing4 1d": """
f(x : [float]30, w : [float]3) = join(mapWorkgroup(0)(t -> let s = toLocal(mapLocal(0)(v ->
  v, t)) join(mapLocal(0)(q -> mapSeq(win -> reduceSeq(0.0, (a, (u, v)) -> a + u * v, zip(win,
  w)), slide(3, 1, q)), slide_strict(4, 2, s))), slide_strict(10, 8, pad(1, 1, 0.0, pad(0, 2,
  0.0, x)))))
""",
}
