"""A colour and a marker for each family, which people with colour blindness can tell apart too."""

from collections.abc import Iterable

# Okabe and Ito's palette without its yellow, which is lost on white; then Paul Tol's darker ones.
_COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7A5195", "#6B7280"),
    *("#882255", "#332288", "#117733", "#999933"),
)
_MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")


def colours(families: Iterable[str]) -> dict[str, str]:
    return {f: _COLOURS[i % len(_COLOURS)] for i, f in enumerate(sorted(set(families)))}


def markers(families: Iterable[str]) -> dict[str, str]:
    return {f: _MARKERS[i % len(_MARKERS)] for i, f in enumerate(sorted(set(families)))}
