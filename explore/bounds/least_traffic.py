"""The least global traffic of any schedule of a program, for a given number of elements held on
chip.

The bounds are those of Zhang et al. (PPoPP 2021). They hold for a nest of maps around one reduction
of products of two operands, where some maps reach only one operand and some only the other. `reuse`
is the number of overlapping windows that use an element of the input. docs/explore.md has the
proofs.
"""

# key: r side of a window, m side of a tile of results

from math import prod, sqrt

from ir.core.frozen import frozen


@frozen
class Windows:
    """The windows along one dimension: size, step, and number (`count`). At least `whole`
    neighbouring ones hold no padding."""

    size: int
    step: int
    count: int
    whole: int

    def tiles(self, m: int) -> int:
        """The least number of tiles of m results that cover the `whole` windows, those without
        padding."""
        return (self.whole if self.whole == self.count else max(0, self.whole - m + 1)) // m


@frozen
class Products:
    """The amounts of a program's sums of products: `count` multiplications, of which the share
    `real` is not with padding, for `results` results.

    Windows overlap so that each element of the input is in `reuse` of them. Results need `others`
    elements besides their sums, such as biases; an element has `word` bytes.
    """

    count: int  # multiplications
    results: int
    reuse: float  # windows that an input is in: size / step over slides, of as many as there are
    windows: tuple[Windows, ...] = ()  # of each slide
    real: float = 1.0  # the part of the multiplications that is not with padding
    others: int = 0  # elements that results need besides their sums
    word: int = 4  # bytes of an element, of the smallest where they differ

    def direct(self, chip: float) -> float:
        """The least number of elements that a schedule moves with `chip` elements on chip,
        computing the products as they stand: real count / (4 √(2 reuse chip))."""
        return self.real * self.count / (4 * sqrt(2 * self.reuse * chip))

    def volume(self, chip: float) -> float:
        """The number of elements that the io-optimal dataflow moves with blocks of `chip`
        results."""
        return 2 * self.count / sqrt(self.reuse * chip) + self.results + self.others

    def winograd(self, m: int, chip: float) -> float | None:
        """The least number of elements that F(m × m, r × r) moves with `chip` elements on chip;
        None if windows are not r × r with step 1."""
        spread = self._spread(m)
        tiled = prod(m * w.tiles(m) / w.count for w in self.windows)
        return None if spread is None else tiled * spread / (2 * sqrt(2 * chip)) - chip

    def winograd_volume(self, m: int, chip: float) -> float | None:
        """The number of elements that the dataflow of Winograd's algorithm F(m × m, r × r) moves
        with `chip` transformed sums on chip; None if windows are not r × r with step 1."""
        spread = self._spread(m)
        return None if spread is None else 2 * spread / sqrt(chip) + self.results + self.others

    def _spread(self, m: int) -> float | None:
        """The number Ho Wo Co Ci (m + r - 1) r / m, to which Winograd's traffic is proportional,
        for windows of r × r with step 1, where Co × Ho × Wo results are sums over Ci channels; None
        for other windows."""
        sizes = {w.size for w in self.windows}
        if len(self.windows) != 2 or len(sizes) != 1 or any(w.step != 1 for w in self.windows):
            return None
        (r,) = sizes
        return self.count / r * (m + r - 1) / m
