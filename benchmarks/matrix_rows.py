"""The rows of `matrix_layers`: programs at the sizes of layers, of their gradients and of products,
and the ways in which instructions may multiply their numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.torch_gradients import DATA, TRANSPOSED, WEIGHTS
from explore.files.named_programs import named_programs
from ir.core.nodes import Program
from ir.errors import UserError
from ir.parse import parse

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
VGG = (2, 5, 7, 10, 12, 17, 19, 24)
MEC = range(1, 13)
UPSAMPLED = ((512, 28), (256, 56))  # channels and side of what decoders enlarge
SIDE = 4096  # of the square matrices that are multiplied

# A layer of VGG-16 with halves in memory; products and sums are floats.
HALF_VGG = """
half_vgg(const weights : [[[[half]C]3]3]M, const biases : [half]M, image : [[[half]C]W]H) =
  map2d(window ->
      map((kernel, bias) ->
          half(relu(reduce(float(bias), (acc, (x, w)) -> acc + float(x) * float(w),
                           zip(flatten(window), flatten(kernel))))),
        zip(weights, biases)),
    slide2d(3, 1, pad2d(1, half(0.0), image)))
where C = 128, W = 112, H = W, M = 128
"""
# The product of two matrices of bfloats, with floats as sums.
BFLOAT_PRODUCT = """
product(a : [[bfloat]K]M, b : [[bfloat]N]K) =
  map(row ->
      map(column ->
          bfloat(reduce(0.0, (acc, (x, y)) -> acc + float(x) * float(y), zip(row, column))),
        transpose(b)),
    a)
where M = 512, N = 512, K = 512
"""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to multiply: the `words` that all forms of it have, the words that none has
    (`without`), the precision of the peer beside it, and the largest error of right results."""

    words: frozenset[str]
    without: frozenset[str]
    peer: str  # float, tf32, half or bfloat
    max_error: float


@dataclass(frozen=True, slots=True)
class Row:
    """A row by its name: the text of its program, sizes in place of those in the text, and the way
    in which its numbers are multiplied, in forms of the family. `gradient` is the kind that
    `torch_gradients` knows the program by (None: it is a layer or a product)."""

    name: str
    text: str
    sizes: tuple[tuple[str, int], ...]
    way: Way
    gradient: str | None = None
    family: str = "matrix"

    @property
    def program(self) -> Program:
        return parse(self.text, set=dict(self.sizes))

    def at(self, sizes: Mapping[str, int]) -> "Row":
        """The row with some of its sizes replaced by `sizes`."""
        known = {name: sizes.get(name, n) for name, n in self.sizes}
        return replace(self, sizes=tuple(known.items()))


def _way(words: str, without: str, peer: str, max_error: float) -> Way:
    return Way(frozenset(words.split()), frozenset(without.split()), peer, max_error)


PACKED = "patch relaid"  # constants are laid out for lanes before all runs
IN_RUNS = "patch laid"  # there are none: what lanes load is laid out in every run
SEVERAL = "split widened spelled by-taps"  # for sums of several dimensions, or other numbers
BF16X3 = _way(f"mma-bf16 parts {PACKED}", "padded", "float", 1e-5)
BY_WGMMA = _way(f"wgmma-bf16 parts {PACKED}", "padded", "float", 1e-5)
ONE_BY_WGMMA = _way(f"wgmma-bf16 {PACKED}", "padded parts three-parts", "tf32", 4e-3)
F16X3 = _way(f"mma-f16 parts {PACKED}", "padded", "float", 1e-6)
HALVES = _way(f"mma-f16 {PACKED}", "padded parts widened", "half", 3e-3)
PRODUCTS = {
    "tf32": _way(f"mma-tf32 {IN_RUNS}", f"parts {SEVERAL}", "tf32", 2e-3),
    "bf16x3": _way(f"mma-bf16 {IN_RUNS} parts", SEVERAL, "float", 1e-5),
}
SUMS = _way("mma-bf16 patch sums-of-7 parts", "", "float", 1e-5)  # over images
AS_WRITTEN = _way("mma-bf16 patch parts", "relaid padded", "float", 1e-5)  # nothing is packed
OTHERS = "registers blocked fused elementwise arm-matrix intel-bf16 intel-f16"
BY_MMA = _way("", f"{OTHERS} running", "float", 1e-5)  # products between transforms
AS_THEY_LIE = "patch both in-flight"  # nothing is laid out: groups stage what they multiply
LYING = {
    "tf32": _way(f"mma-tf32 {AS_THEY_LIE}", "", "tf32", 2e-3),
    "bf16": _way(f"mma-bf16 {AS_THEY_LIE}", "", "bfloat", 1e-2),
}
OTHER_TYPES = "mma-bf16 wgmma-bf16 wgmma-bf16-across intel-bf16 intel-f16"
AS_HALVES = _way("patch both in-flight narrowed", OTHER_TYPES, "tf32", 2e-3)  # of floats
F16X3_OF_TILES = _way("mma-f16 parts", OTHERS, "float", 1e-6)
BFLOATS = _way(f"mma-bf16 {IN_RUNS}", f"parts {SEVERAL}", "bfloat", 1e-2)


def rows() -> Iterator[Row]:
    """All rows, those of one kind beside each other."""
    known = named_programs()
    for n in VGG:
        sizes = dict(known[f"vgg-{n}"].sizes)
        batch = {"N": 32, "C": sizes["C"], "W": sizes["W"], "H": sizes["W"], "M": sizes["M"]}
        yield Row(f"batch-vgg-{n}", _text("batched"), tuple(batch.items()), BF16X3)
        name = f"winograd-batch-vgg-{n}"
        yield Row(name, _text("batched"), tuple(batch.items()), BY_MMA, family="winograd")
    for n in MEC:
        named = known[f"mec-cv{n}"]
        sizes = {"N": 32, **dict(named.sizes)}
        yield Row(f"mec-cv{n}", _text("mec"), tuple(sizes.items()), BF16X3)
    for n in VGG:
        yield Row(f"vgg-{n}", _text("vgg"), tuple(known[f"vgg-{n}"].sizes), BF16X3)
        yield Row(f"wgmma-vgg-{n}", _text("vgg"), tuple(known[f"vgg-{n}"].sizes), BY_WGMMA)
        name = f"one-wgmma-vgg-{n}"
        yield Row(name, _text("vgg"), tuple(known[f"vgg-{n}"].sizes), ONE_BY_WGMMA)
        sizes_of_layer = tuple(known[f"vgg-{n}"].sizes)
        yield Row(f"winograd-vgg-{n}", _text("vgg"), sizes_of_layer, BY_MMA, family="winograd")
        name = f"winograd-f16x3-vgg-{n}"
        yield Row(name, _text("vgg"), sizes_of_layer, F16X3_OF_TILES, family="winograd")
        yield Row(f"f16x3-vgg-{n}", _text("vgg"), tuple(known[f"vgg-{n}"].sizes), F16X3)
        yield Row(f"half-vgg-{n}", HALF_VGG, tuple(known[f"vgg-{n}"].sizes), HALVES)
    for n in VGG[1:]:
        sizes_of_layer = tuple(known[f"vgg-{n}"].sizes)
        yield Row(f"data-vgg-{n}", _text("gradients/vgg_image"), sizes_of_layer, BF16X3, DATA)
        yield Row(f"weights-vgg-{n}", _text("gradients/vgg_weights"), sizes_of_layer, SUMS, WEIGHTS)
    for c, w in UPSAMPLED:
        up = {"C": c, "W": w, "H": w, "K": 4, "S": 2, "P": 1, "R": 0, "D": 1, "M": c // 2}
        name, text = f"transposed-{c}", _text("conv_transpose2d")
        yield Row(name, text, tuple(up.items()), AS_WRITTEN, TRANSPOSED)
    square = tuple((name, SIDE) for name in "MNK")
    for name, way in PRODUCTS.items():
        yield Row(f"product-{name}", _text("matmul"), square, way)
    yield Row("product-bf16", BFLOAT_PRODUCT, square, BFLOATS)
    yield Row("lying-tf32", _text("matmul"), square, LYING["tf32"])
    yield Row("lying-bf16", BFLOAT_PRODUCT, square, LYING["bf16"])
    yield Row("product-as-halves", _text("matmul"), square, AS_HALVES)


def _text(example: str) -> str:
    return (EXAMPLES / f"{example}.lift").read_text(encoding="utf-8")


def rows_named(names: Sequence[str]) -> list[Row]:
    """The rows that are named, or whose names begin with one of `names` and a hyphen, in the order
    of `rows`; a UserError for a name of none."""
    every = [*rows()]
    for name in names:
        if not any(_meant(name, row) for row in every):
            known = " ".join(row.name for row in every)
            raise UserError(f"expected names of rows, found {name!r}: rows are {known}")
    return [row for row in every if any(_meant(name, row) for name in names)]


def _meant(name: str, row: Row) -> bool:
    return row.name == name or row.name.startswith(f"{name}-") or row.name.startswith(f"{name}cv")
