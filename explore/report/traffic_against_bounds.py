"""What a variant moves, beside the least that it must and what the best known dataflow would."""

# key: m side of a tile of results

from math import ceil

from explore.bounds.least_traffic import Products
from explore.results.records import WORD, Bounds, Variant
from rewrites.catalogue.forms import DIRECT


def least_traffic(variant: Variant, bounds: Bounds) -> int | None:
    """The global bytes that a variant must move, holding no more on chip than it does.

    Its inputs and output once, and what its products ask for: those of the program, or of
    Winograd's algorithm. Of other algorithms no more is known.
    """
    known = bounds.products
    if known is None or bounds.io_bytes is None or not variant.chip_bytes:
        return bounds.io_bytes
    chip = variant.chip_bytes / known.word
    m, asked = _tile(variant), None
    if m is not None:
        asked = known.winograd(m, chip)
    elif variant.family in DIRECT:
        asked = known.direct(chip)
    return max(bounds.io_bytes, ceil(known.word * (asked or 0)))


def dataflow_traffic(variant: Variant, bounds: Bounds) -> int | None:
    """The bytes that the io-optimal dataflow of Zhang et al. moves with as many sums on chip."""
    known = bounds.products
    kept = known and sums_on_chip(variant, known.word)
    if known is None or not kept:
        return None
    m, moved = _tile(variant), None
    if m is not None:
        moved = known.winograd_volume(m, kept)
    elif variant.family in DIRECT:
        moved = known.volume(kept)
    return None if moved is None else ceil(known.word * moved)


def bound_of(variant: Variant, products: Products | None) -> str:
    """Whose bound is known of the products that a variant makes."""
    m = _tile(variant)
    if products is not None and m is not None and products.winograd(m, 1) is not None:
        return "Winograd's"
    return "direct" if products is not None and variant.family in DIRECT else "its data alone"


def sums_on_chip(variant: Variant, word: int = WORD) -> int:
    """The results of a block where the family makes blocks, else all that a group holds; of
    Winograd's algorithm too, whose sums stay transformed."""
    chip = (variant.chip_bytes or 0) // word
    return chip if _tile(variant) else min(variant.block or chip, chip)


def _tile(variant: Variant) -> int | None:
    """The m of F(m × m, r × r), which a form of Winograd's algorithm has in its name."""
    if variant.family != "winograd":
        return None
    words = (word for word in variant.form.split() if word[0] == "F" and word[1:].isdigit())
    return next((int(word[1:]) for word in words), None)
