"""The parameters of the family `matrix`, and the values worth trying."""

from dataclasses import replace
from functools import partial

from ir.core.nodes import Program
from ir.instructions.table import MATRIX
from rewrites.kernels.staged_sums import Slices
from rewrites.tuning.bank_free_room import bank_free_room
from rewrites.tuning.family import POWERS, Parameter, Sides, Tuning
from rewrites.tuning.lowering import Lowering

ROOM = (0, 1, 2, 3)
SIDE = (1, 2, 3, 4, 7, 8, 12, 14, 16, 24, 28, 32, 56, 64, 96, 112, 128)
_SHARED = {
    "tr": Parameter("tiles of channels that a sub-group makes", (1, 2, 3, 4)),
    "sr": Parameter("sub-groups of a group along channels", (1, 2, 4, 8)),
    "sc": Parameter("sub-groups of a group along pixels", (1, 2, 3, 4)),
}
TUNING = Tuning(
    "matrix",
    {**_SHARED, "tc": Parameter("tiles of pixels that it makes", (1, 2, 3, 4, 6, 7, 8))},
    sides=Sides(pixels=("tc", "sc"), channels=("tr", "sr")),
)
OF_PATCHES = Tuning(
    "matrix",
    {
        **_SHARED,
        "tx": Parameter("columns of pixels that a group makes", SIDE),
        "ty": Parameter("rows of pixels that a group makes", SIDE),
        "tp": Parameter("planes (images, channels of their own) that it makes", POWERS),
        "k": Parameter("instructions' steps of the longest sum staged at once", (1, 2, 4)),
        "rp": Parameter("pixels that a staged line has room for beside its own", ROOM),
        "s": Parameter("steps of a part, where sums are split"),
        "vi": Parameter("channels of a vector where data are transformed", (2, 4, 8, 16)),
        "vo": Parameter("channels of a vector where results are transformed", (2, 4, 8, 16)),
    },
    sides=Sides(pixels=("tx", "ty", "tp"), channels=("tr", "sr")),
)
OF_BOTH = replace(
    OF_PATCHES,
    parameters={
        **{name: OF_PATCHES.parameters[name] for name in ("sr", "sc", "k")},
        "tr": replace(_SHARED["tr"], values=(1, 2, 3, 4, 6)),
        "tx": replace(OF_PATCHES.parameters["tx"], values=(*SIDE, 256)),
    },
    sides=Sides(pixels=("tx",), channels=("tr", "sr")),
)
# Of pixels that an instruction reads from local memory itself, eight lie behind each other, and
# blocks of eight at equal distances: there are eight in a line of a patch, or whole tiles.
LINES = (8, 32, 64, 96, 128)
MOST_SLICES = 4
# Slices by steps alone are at least two: with one, forms whose sums go on are the same.
_SLICES = {
    Slices.STEPS: Parameter("slices of a group along the steps of a chunk", (2, MOST_SLICES)),
    Slices.TAPS: Parameter("slices of a group along the steps of a chunk", (1, 2, MOST_SLICES)),
}


def of_patches(instruction: str, slices: Slices) -> Tuning:
    """The tuning of forms that stage patches for an instruction; its parameter `rp` gets the value
    for which lanes meet the fewest bank conflicts. The tuning is plain data, which can be sent to
    another process."""
    found = {**OF_PATCHES.parameters}
    if MATRIX[instruction].placed:
        # It reads eight neighbours of 16 bytes at once, which lie in different banks.
        found |= {"ty": replace(found["ty"], values=LINES), "rp": replace(found["rp"], values=(0,))}
        return replace(OF_PATCHES, parameters=found)
    if slices is not Slices.NONE:
        del found["sc"]
        found["p"] = _SLICES[slices]
    return replace(OF_PATCHES, parameters=found, refine=partial(_with_free_banks, instruction))


def _with_free_banks(instruction: str, _: Program, lowering: Lowering) -> Lowering:
    return bank_free_room(MATRIX[instruction].brought[1], SIDE, "rp", ROOM, lowering)
