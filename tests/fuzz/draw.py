"""The drawing of a random program for a seed.

It has one of the structures that families lower, in floats or with mixed types, or is a random
term, or calls helpers, or is lowered from the start."""

# key: r random numbers

from contextlib import suppress
from dataclasses import dataclass
from random import Random

from ir.core.nodes import Program
from ir.core.types import show_type
from ir.errors import UserError
from ir.parse import parse
from ir.text.show import show
from tests.fuzz import terms
from tests.support import random_programs
from tests.support.mixed_types import mixed
from tests.support.structures import STRUCTURES, drawn

KINDS = ("structure", "structure", "term", "term", "term", "helper", "lowered")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A program, and the kind of its drawing: structure, helper, lowered or term."""

    program: Program
    kind: str

    @property
    def lowered(self) -> bool:
        return self.kind == "lowered"


def draw(seed: str) -> Drawn:
    """The random program of a seed; equal seeds give equal programs."""
    r = Random(seed)
    kind = r.choice(KINDS)
    match kind:
        case "structure":
            program = drawn(r.choice(tuple(STRUCTURES)), r)
            return Drawn(mixed(program, r) if r.random() < 0.5 else program, kind)
        case "helper":
            return Drawn(with_helpers(r), kind)
        case "lowered":
            return Drawn(lowered(r), kind)
    return Drawn(terms.program(r), kind)


def lowered(r: Random) -> Program:
    """A random program that is written with the words of lowered programs; one that the language
    does not allow is drawn again."""
    while True:
        program = random_programs.program(r.randrange(1 << 30))
        with suppress(UserError):
            return parse(show(program))


def with_helpers(r: Random) -> Program:
    """A random program of three functions: h maps g over arrays, g calls f with its own arguments,
    and f is a random term."""
    while True:
        inner = terms.program(r, stored=0)
        if inner.params:
            text, names = show(inner), [p.var.name for p in inner.params]
            break
    first, *rest = names
    given = ", ".join(f"all_{name}" for name in names)
    types = ", ".join(f"all_{p.var.name} : [{show_type(p.var.type)}]N" for p in inner.params)
    middle = f"g({', '.join(names)}) =\n  f({', '.join(names)})"
    pattern = f"({', '.join(names)})" if rest else first
    arrays = f"zip({given})" if rest else given
    outer = f"h({types}) =\n  map({pattern} -> g({', '.join(names)}), {arrays})"
    definitions = text.replace("const ", "")
    return parse(f"{definitions}\n{middle}\n{outer}\nwhere N = {r.randint(1, 4)}")
