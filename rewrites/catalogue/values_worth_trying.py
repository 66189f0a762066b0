"""What is worth trying: the values of each family's parameters, and how much may be wasted."""

# key: e term

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod

from ir.core.nodes import Expr, PadEdge, Split
from ir.core.size import Nat, Size, bind, named, names, show_size
from ir.core.terms import size_names, subterms
from ir.core.type_rules import size_of
from rewrites.engine.rule import Step
from rewrites.kernels.copy_kernels import shares
from rewrites.kernels.work_group_slices import COUNTS
from rewrites.laws.maps import extend_map, round_map


@dataclass(frozen=True, slots=True)
class Requirement:
    """a <= b, beyond what the program's types demand: what makes a variant worth having."""

    a: Size
    b: Size
    why: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A parameter takes one of these values: between them lies nothing that is better."""

    parameter: str
    values: tuple[int, ...]
    why: str


# What the families try: powers of two where work-items are counted, small numbers where results are
# kept in registers (an image's row is often a multiple of 7 or of 3).
POWERS = (1, 2, 4, 8, 16, 32, 64)
SMALL = (1, 2, 3, 4, 5, 6, 7, 8)
TILES = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 24, 27, 28, 32})  # windows a side
MOST_SIDE = 256
FEW = 16  # work-items: the smallest group, which may be idle in part while it copies a small tile
SPARE, COPIED = 12, 4 * FEW
ITEMS = frozenset({"lx", "ly", "p"})  # work-items of a group
TURNS = tuple(2**n for n in range(13))  # groups that share a kernel's rows, each in turns

TRIED: dict[str, dict[str, tuple[int, ...]]] = {
    "registers": {
        "tr": (1, 2, 3, 4, 6, 8),
        "tx": (*SMALL, 10, 12, 14, 16, 20, 24, 28, 32),
        "ty": SMALL,
        "k": (*SMALL, 9, 11, 12, 16),
        "v": (2, 4, 8, 16),
        "vi": (2, 4, 8, 16),
        "vo": (2, 4, 8, 16),
    },
    "blocked": {
        "lx": POWERS,
        "ly": POWERS,
        "tr": (1, 2, 4),
        "tc": (1, 2, 4, 7, 8, 14, 16),
        "k": (*SMALL, 9, 11, 12, 16, 32),
        "p": COUNTS,
        "v": (2, 4, 8),
        "vi": (2, 4, 8, 16),
        "vo": (2, 4, 8, 16),
    },
    "fgfft": {"block_size": (1, 2, 4, 8, 16, 32, 64, 128, 256)},
}
TRIED["fgfft"] |= TRIED["blocked"] | TRIED["registers"]  # of what makes the sums of products
TRIED["io-optimal"] = {
    **{name: TRIED["blocked"][name] for name in ("lx", "ly", "v")},
    "tr": (1, 2, 3, 4),
    "tx": (*range(1, 17), 24, 27, 28, 32),  # a patch that reaches beyond the image is no bargain
    "ty": (*range(1, 17), 24, 27, 28, 32),
}


# Where not all forms can be tried, one with this word is tried so much oftener than one without:
# constants in the order in which they are read cost nothing when the program runs, vectors over
# pixels are for programs with few channels, copies of all windows seldom pay for their bytes.
OFTENER = {"relaid": 4.0, "flipped": 0.5, "room": 0.5, "im2col": 0.5, "mec": 0.5, "im2win": 0.5}


STAGED = 0.125  # of forms that copy tiles where local memory is ordinary memory: on a CPU


def weight(form: str, dedicated_local: bool = True) -> float:
    """How often a form is tried, beside others of its family."""
    words = form.split()
    staged = STAGED if "blocked" in words and not dedicated_local else 1.0
    return staged * prod(OFTENER.get(word, 1.0) for word in words)


# What a work-item keeps in registers, and the vectors that it is made of.
BLOCKS: dict[str, tuple[str, ...]] = {
    "registers": ("tr", "tx", "ty", "v"),
    "lift": ("kappa", "sigma", "v"),
}
BLOCKS["fgfft"] = BLOCKS["registers"]


@dataclass(frozen=True, slots=True)
class Kept:
    """The results that a work-item keeps in registers, in vectors of so many."""

    results: Size
    vector: Size


def kept(e: Expr, way: str) -> Kept | None:
    """The block of a family that keeps one, where it is made of vectors."""
    present = [named(p) for p in BLOCKS.get(way, ()) if p in size_names(e)]
    return Kept(prod(present, start=1), named("v")) if named("v") in present else None


Sides = tuple[tuple[str, ...], tuple[str, ...]]

# The pixels and the channels of the results that a work-group makes.
GROUPS: dict[str, Sides] = {
    "registers": (("tx", "ty"), ("tr", "v")),
    "blocked": (("ly", "tc"), ("lx", "tr", "v")),
    "io-optimal": (("tx", "ty"), ("lx", "tr", "v")),
}
FLIPPED: dict[str, Sides] = {
    "registers": (("tr", "v", "ty"), ("tx",)),
    "blocked": (("lx", "tr", "v"), ("ly", "tc")),
}


def grouped(e: Expr, way: str, flipped: bool) -> tuple[Size, Size] | None:
    """(pixels, channels) of a work-group's block of results, where a family makes one."""
    if way == "lift":
        return _lifted(e)
    free, sides = size_names(e), (FLIPPED if flipped else GROUPS).get(way)
    if sides is None:
        return None
    pixels, channels = (prod((named(p) for p in side if p in free), start=1) for side in sides)
    return pixels, channels


def _lifted(e: Expr) -> tuple[Size, Size] | None:
    """Tiles of windows, by the counts that their sides hold, times `kappa` kernels if many."""
    theta = {name for name in size_names(e) if name.startswith("theta")}
    counts = [s.size for s in subterms(e) if isinstance(s, Split) and names(s.size) & theta]
    kernels = named("kappa") if "kappa" in size_names(e) else 1
    return (prod(counts[:2], start=1), kernels) if counts else None


def tried(e: Expr, steps: Sequence[Step], way: str) -> tuple[Choice, ...]:
    """The values that a family tries, of the parameters that its program has."""
    free = size_names(e)
    why = f"family {way} tries these"
    listed = [Choice(p, values, why) for p, values in TRIED.get(way, {}).items() if p in free]
    copied = [Choice("u", shares(e, steps), why)] if "u" in free else []
    return (*listed, *copied, *_turns(e, steps), *(_sides(e) if way == "lift" else ()))


def _turns(e: Expr, steps: Sequence[Step]) -> Iterator[Choice]:
    """Groups that share the rows of each kernel: as many as these or fewer, no shares twice."""
    if "num_blocks" in size_names(e):
        rows = set(_rounded(steps, "num_blocks")) or {1}
        counts = sorted({*rows, *(n for n in TURNS if n < max(rows))}, reverse=True)
        shares = {tuple(-(-each // n) for each in rows): n for n in counts}
        yield Choice("num_blocks", tuple(sorted(shares.values())), "no more groups than rows")


def asked(e: Expr, steps: Sequence[Step], way: str) -> tuple[Requirement, ...]:
    """What a family asks of a program's parameters."""
    return (*_rounding(steps), *(_enough(e, steps) if way == "blocked" else ()))


def _enough(e: Expr, steps: Sequence[Step]) -> Iterator[Requirement]:
    """Groups that keep a device busy, unless an eighth of a kernel's results are fewer."""
    rows, columns = (list(_rounded(steps, name)) for name in ("lx", "ly"))
    tiles = [n * m for n, m in zip_longest(rows, columns, fillvalue=1)]
    if tiles:
        few = min(FEW, max(1, min(tiles) // 8))
        items = prod(map(named, sorted(ITEMS & size_names(e))), start=1)
        yield Requirement(few, items, f"a group of at least {few} work-items")


def _rounded(steps: Sequence[Step], name: str) -> Iterator[int]:
    """The dimensions that are rounded up to a multiple of a parameter."""
    for step in steps:
        k = dict(step.arguments).get("k")
        if step.rule == round_map and isinstance(k, Nat) and not _copies(k) and name in names(k):
            n = size_of(step.term)
            if isinstance(n, int):
                yield n


def _copies(k: object) -> bool:
    """Whether so many elements are copied in a round: one for each work-item."""
    return isinstance(k, Nat) and names(k) <= ITEMS


def _sides(e: Expr) -> Iterator[Choice]:
    """The sides of tiles of windows, which depend on the windows' size and step."""
    tiles = {sub.size for sub in subterms(e) if isinstance(sub, Split)}
    for name in sorted(name for name in size_names(e) if name.startswith("theta")):
        counts = [n for n in tiles if names(n) == {name} and n != named(name)]
        if len(counts) == 1:
            sides = (side for side in range(1, MOST_SIDE) if bind(counts[0], {name: side}) in TILES)
            yield Choice(name, tuple(sides), "tiles of a few windows")


def _rounding(steps: Iterable[Step]) -> Iterator[Requirement]:
    """What is added to make tiles fit must be worth it."""
    seen: set[Size] = set()
    for step in steps:
        if step.rule in (round_map, extend_map) and isinstance(step.term, PadEdge):
            more = -step.term.right
            if names(more) and more not in seen:
                seen.add(more)
                copied = _copies(dict(step.arguments).get("k"))
                spare = COPIED if copied else SPARE
                yield _worthwhile(more, size_of(step.term), spare)


def _worthwhile(more: Size, n: Size, spare: int) -> Requirement:
    """Rounding up wastes at most a quarter and a little; padding that is a parameter, a half."""
    if more in {named(name) for name in names(more)}:
        return Requirement(more, n, "padding at most doubles a dimension")
    rounded = f"{show_size(n)} to {show_size(n + more)}"
    return Requirement(4 * more, n + spare, f"rounding {rounded} adds at most a quarter")
