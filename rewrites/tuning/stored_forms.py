"""The choices of stored views that forms of several families share, with their traits."""

# key: p program

from collections.abc import Iterator, Sequence
from itertools import product

from ir.core.nodes import Program
from ir.core.size import Size
from rewrites.analysis.windows import has_windows
from rewrites.engine.refused import Refused
from rewrites.nest.dimensions import sided
from rewrites.nest.spine import nest
from rewrites.storing.stored_views import Choices, Windows
from rewrites.tuning.family import Trait, constant_names, parameter_names
from rewrites.tuning.sums_of_programs import kernels_of

PADDED = Trait("padded", "the padded image is stored", stores=True)
PLANES = Trait("planes", "stored with its innermost dimension (channels) outermost", stores=True)
IM2WIN = Trait("im2win", "rows of windows are stored, in window order", stores=True, weight=0.5)
MEC = Trait("mec", "windows along rows are stored, shared by rows", stores=True, weight=0.5)
IM2COL = Trait("im2col", "every window is stored whole", stores=True, weight=0.5)
ROOM = Trait("room", "what is stored has room for rounded-up tiles", stores=True, weight=0.5)
RELAID = Trait(
    "relaid", "constants are kept in the order in which they are read", stores=True, weight=4.0
)
LAID = Trait(
    "laid",
    "operands are laid out in the order in which they are read, in every run",
    stores=True,
    weight=16.0,
)
FLIPPED = Trait("flipped", "vectors go over pixels instead of channels", weight=0.5)
AHEAD = Trait("ahead", "the next chunk is loaded while this one is used")
ITEMS = Trait("items", "work-items on their own, in no groups", neighbours=True)

TRAITS: dict[Windows, tuple[Trait, ...]] = {
    Windows.NONE: (),
    Windows.PADDED: (PADDED,),
    Windows.PLANES: (PLANES,),
    Windows.IM2WIN: (IM2WIN,),
    Windows.IM2WIN_PLANES: (IM2WIN, PLANES),
    Windows.MEC: (MEC,),
    Windows.IM2COL: (IM2COL,),
}

Views = Sequence[tuple[Windows, bool]]  # what is stored, with room for rounded-up tiles or not

PADDED_VIEWS: Views = tuple(product((Windows.PADDED, Windows.PLANES), (False, True)))
ALL_VIEWS: Views = (
    (Windows.NONE, False),
    *PADDED_VIEWS,
    (Windows.IM2WIN, False),
    (Windows.MEC, False),
    (Windows.IM2COL, False),
)


def stored_choices(
    p: Program, views: Views, panel: Size, block: Size = 1
) -> Iterator[tuple[tuple[Trait, ...], Choices]]:
    """The choices of a form, with their traits: which of `views` it stores, and whether it relays
    constants. `panel` is the number of rows in a panel of constants that vectors go over, `block`
    that in a panel of other constants.

    Unless `block` is 1, each choice is given a second time, with rows and columns exchanged.
    """
    relaid = [frozenset[str](), constant_names(p)] if constant_names(p) else [frozenset[str]()]
    flips = (False,) if block == 1 else (False, True)
    for flipped, (windows, room), names_ in product(flips, views, relaid):
        traits = (*TRAITS[windows], *chosen({ROOM: room, RELAID: bool(names_)}))
        yield traits, Choices(windows, room, names_, panel, block=block, flipped=flipped)


def laid_choices(
    p: Program, views: Views, panel: Size
) -> Iterator[tuple[tuple[Trait, ...], Choices]]:
    """The choices of forms, with their traits, that lay out the operand that vectors go over in
    every run, in panels of `panel` rows: for products of operands none of which is constant, if
    `views` has the operands as they are. There are none for programs with windows, each of which
    would be copied. Vectors go over the innermost dimension of results, so that results are stored
    as they lie."""
    if constant_names(p) or has_windows(p.body) or (Windows.NONE, False) not in views:
        return
    for flipped in sorted(set(_innermost_in_columns(p))):
        yield (LAID,), Choices(relaid=parameter_names(p), panel=panel, flipped=flipped)


def _innermost_in_columns(p: Program) -> Iterator[bool]:
    """For each kernel of a program that has rows and columns, whether the innermost dimension of
    its results is one of columns."""
    for kernel in kernels_of(p):
        try:
            yield len(nest(kernel)) - 1 in sided(kernel).columns
        except Refused:  # it makes no sum, or sums have no sides
            continue


def chosen(traits: dict[Trait, bool]) -> tuple[Trait, ...]:
    """The traits whose value in `traits` is true, in the order of `traits`: those that a form
    has."""
    return tuple(trait for trait, has in traits.items() if has)
