"""The record of a lowered program: its derivation, its parameters, and the requirements on them."""

from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.core.size import Size
from rewrites.engine.derivation import Derivation


@frozen
class Requirement:
    """The relation a <= b that a variant must satisfy to be worth having, and the reason (`why`).
    The types of its term do not demand it."""

    a: Size
    b: Size
    why: str


@frozen
class Choice:
    """The values at which a parameter is tried, and the reason (`why`). Values between these were
    left out because none of them is better than both of its neighbours."""

    parameter: str
    values: tuple[int, ...]
    why: str


@frozen
class Kept:
    """The number of results that a work-item keeps in registers, and how many of them are in one
    vector."""

    results: Size
    vector: Size


Block = tuple[Size, Size]  # the pixels and the channels of the results that a work-group makes


@frozen
class Lowering:
    """A program lowered by a form of a family, with parameters, and the derivation that proves it
    equal to its source.

    `choices` are values to try of its parameters. `requirements` are relations that the values must
    satisfy, although types do not demand it. `kept` and `block` are the results that a work-item
    and a work-group make, and `at_once` the number of work-groups that local memory must hold
    together.
    """

    family: str
    form: str
    program: Program
    derivation: Derivation
    requirements: tuple[Requirement, ...]
    choices: tuple[Choice, ...] = ()
    kept: Kept | None = None
    block: Block | None = None
    at_once: int = 1  # work-groups that local memory must hold
