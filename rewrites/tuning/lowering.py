"""A lowered program with its derivation, its parameters and what is asked of them."""

from dataclasses import dataclass

from ir.core.nodes import Program
from ir.core.size import Size
from rewrites.engine.rule import Derivation


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


@dataclass(frozen=True, slots=True)
class Kept:
    """The results that a work-item keeps in registers, in vectors of so many."""

    results: Size
    vector: Size


Block = tuple[Size, Size]  # the pixels and the channels of the results that a work-group makes


@dataclass(frozen=True, slots=True)
class Lowering:
    """A program lowered by a family: parametric, with the proof that it is the same program."""

    family: str
    form: str
    program: Program
    derivation: Derivation
    requirements: tuple[Requirement, ...]
    choices: tuple[Choice, ...] = ()
    kept: Kept | None = None
    block: Block | None = None
    at_once: int = 1  # work-groups that local memory must hold
