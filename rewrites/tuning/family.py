"""The record of a family: the forms in which it lowers a program, and the parameters that these
have.

A family is one record, `FAMILY`, in its own file in `rewrites/families`; a form is plain data, so
that it can be sent to another process and lowered there.
"""

# key: p program, e term

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from math import inf, prod
from typing import Any

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Program
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.tuning.lowering import Lowering

# What families try: powers of two where work-items are counted, small numbers where results are
# kept in registers (an image's row is often a multiple of 7 or of 3).
POWERS = (1, 2, 4, 8, 16, 32, 64)
SMALL = (1, 2, 3, 4, 5, 6, 7, 8)

STAGED_WHERE_LOCAL_IS_ORDINARY = 0.125  # how often copies to local memory are tried on a CPU
ALONE_ON_A_GPU = 0.125  # how often work-groups of one work-item that does much are tried there
NEIGHBOURS_ON_A_GPU = 4.0  # how often forms are tried there whose items read side by side


@frozen
class Parameter:
    """A number that is tuned: what it counts (`meaning`), and the values worth trying; without
    values, all divisors of a size are tried."""

    meaning: str
    values: tuple[int, ...] = ()


@frozen
class Trait:
    """A choice of a form that is not a number: the word that names it, and what it means.

    Where not all forms can be tried, one with this trait is tried `weight` times as often.
    `stores`: it makes a view real in global memory. `staged`: tiles are copied to local memory.
    `alone`: a work-item does by itself what a work-group could share. `neighbours`: work-items next
    to each other read elements next to each other. `paired`: times as often as `weight` says, it is
    tried where that lets a device multiply halves in pairs. `tile`: the results a side of a
    transformed tile. `instruction`: the name of the one that makes products. `loses`: the largest
    relative error of a product, if numbers of fewer bits are multiplied than the program's.
    `loses_in_sums`: the relative error of a sum of random numbers, if additions cut bits off.
    `largest`: the largest number that may be multiplied.
    """

    word: str
    meaning: str
    stores: bool = False  # a view is made real in global memory
    weight: float = 1.0
    staged: bool = False  # tiles are copied to local memory
    alone: bool = False  # a work-item does by itself, in turns, what a work-group could share
    neighbours: bool = False  # neighbouring work-items share a group, or read neighbouring elements
    paired: float = 1.0  # times as often as `weight` says where halves are multiplied in pairs
    tile: int | None = None  # results a side of a transformed tile
    instruction: str | None = None  # of the table, which a device may have or not
    loses: float = 0.0  # of each product, at most, by numbers of fewer bits
    loses_in_sums: float = 0.0  # of a sum of random numbers, where additions cut bits off
    largest: float = inf  # number that may be multiplied: larger ones overflow


@frozen
class Sides:
    """The parameters whose products count the pixels and the channels of a work-group's block."""

    pixels: tuple[str, ...]
    channels: tuple[str, ...]


def unrefined(_: Program, lowering: Lowering) -> Lowering:
    """The lowering as it is, without further requirements."""
    return lowering


@frozen
class Tuning:
    """The parameters of a kernel, the block of results that they make, and the requirements on
    them.

    The product of the parameters `kept` is the number of results that a work-item keeps; `sides`
    names those that count a work-group's block. `refine` adds to a lowering what depends on the
    program: (source, lowering) -> lowering.
    """

    name: str
    parameters: Mapping[str, Parameter]
    kept: tuple[str, ...] = ()  # whose product counts the results that a work-item keeps
    sides: Sides | None = None
    refine: Callable[[Program, Lowering], Lowering] = unrefined


@frozen
class Way:
    """A strategy as plain data: `make(params, choices)` gives the strategy."""

    make: Callable[[frozenset[str], Any], Strategy]
    params: frozenset[str]
    choices: object

    def __call__(self, e: Expr) -> Rewritten | None:
        """The term e rewritten by the strategy."""
        return self.make(self.params, self.choices)(e)


@frozen
class Form:
    """A form of a family: its traits, its strategy, and its tuning."""

    family: str
    traits: tuple[Trait, ...]
    strategy: Strategy
    tuning: Tuning

    @property
    def words(self) -> tuple[str, ...]:
        """The words that name the form's traits."""
        return tuple(trait.word for trait in self.traits)

    @property
    def name(self) -> str:
        """The form's name as people read it, such as `padded relaid ahead`."""
        return " ".join(self.words)

    @property
    def tile(self) -> int | None:
        """The number of results a side of a transformed tile; None for forms that do not transform
        tiles."""
        return next((t.tile for t in self.traits if t.tile is not None), None)

    @property
    def instructions(self) -> frozenset[str]:
        """The names of the instructions that the form's kernels use; a device without them emulates
        them."""
        return frozenset(t.instruction for t in self.traits if t.instruction is not None)

    @property
    def loses_in_sums(self) -> float:
        """The relative error of the form's sums of random numbers, where additions cut bits off."""
        return max((trait.loses_in_sums for trait in self.traits), default=0.0)

    @property
    def loses(self) -> float:
        """The largest relative error of a product in this form, because it multiplies numbers of
        fewer bits than the program does; 0 if it does not."""
        return max((trait.loses for trait in self.traits), default=0.0)

    @property
    def largest(self) -> float:
        """The largest absolute value of numbers that the form multiplies right; larger ones become
        infinite, and results with them."""
        return min((trait.largest for trait in self.traits), default=inf)

    def weight(self, *, on_gpu: bool, dedicated_local: bool, pairs_halves: bool = False) -> float:
        """The share of tries that this form has, relative to the other forms of its family.

        On devices whose local memory is ordinary memory (`dedicated_local` false), forms that copy
        to it are tried less often. On GPUs, phones' too (`on_gpu`), forms whose work-items do much
        by themselves are tried less often, and those whose neighbouring work-items share a group or
        read neighbouring elements more often. Where halves are multiplied in pairs unless loops
        carry their sums (`pairs_halves`), forms that have sums of their own in each turn are tried
        more often.
        """
        staged = any(trait.staged for trait in self.traits) and not dedicated_local
        alone = sum(trait.alone for trait in self.traits) if on_gpu else 0
        rate = STAGED_WHERE_LOCAL_IS_ORDINARY if staged else 1.0
        rate *= ALONE_ON_A_GPU**alone  # traits of such groups have weights for CPUs
        side_by_side = any(trait.neighbours for trait in self.traits) and on_gpu
        rate *= NEIGHBOURS_ON_A_GPU if side_by_side else 1.0
        rate *= prod(trait.paired for trait in self.traits) if pairs_halves else 1.0
        return rate * prod(trait.weight for trait in self.traits)


def one_trait_apart(a: Form, b: Form) -> bool:
    """True if two forms differ by one trait: one more, one less, or one in place of another."""
    mine, other = set(a.words), set(b.words)
    return max(len(mine - other), len(other - mine)) == 1


class Products(Enum):
    """The kind of products that a family makes for a program."""

    ASKED = "those that the program asks for, and others with zeros at most"
    FEWER = "fewer, of sums: a bilinear algorithm"
    SPECTRAL = "those of spectra"


@frozen
class Family:
    """A family, a way to lower programs, which `meaning` describes.

    `forms` lists its forms for a program. `products` is the kind of products that it makes.
    `stores` has traits of views that all its forms store. Families that are not `by_default` take
    their forms from others, so they are explored only if asked for.
    """

    name: str
    meaning: str
    forms: Callable[[Program], Iterator[Form]]
    products: Products = Products.ASKED
    by_default: bool = True
    stores: tuple[Trait, ...] = field(default=())  # views that all of its forms make real

    def stored(self, form: Form) -> tuple[str, ...]:
        """The words for the views that a form makes real in global memory."""
        return tuple(t.word for t in (*self.stores, *form.traits) if t.stores)


def parameter_names(p: Program) -> frozenset[str]:
    """The names of a program's parameters."""
    return frozenset(param.var.name for param in p.params)


def constant_names(p: Program) -> frozenset[str]:
    """The names of a program's parameters that are constant."""
    return frozenset(param.var.name for param in p.params if param.const)
