"""The instructions of a table that multiply bytes of the types that a program has, and whether it
has narrow numbers at all."""

# key: p program, t type

from collections.abc import Iterator, Mapping
from itertools import product

from ir.core.nodes import Program
from ir.core.terms import variables
from ir.core.types import CHAR, UCHAR, Scalar, Type, Vector, leaves
from ir.instructions.entry import Alone, Entry
from rewrites.number_laws.widening import NARROW


def of_its_bytes(p: Program, table: Mapping[str, Entry] | Mapping[str, Alone]) -> Iterator[str]:
    """The names of the instructions in `table` that multiply bytes of the types that p has: one
    factor has the type of p's constants (if it has no constants, of its other parameters), the
    other that of its other parameters."""
    const, other = (_bytes(p, const) for const in (True, False))
    pairs = {frozenset(pair) for pair in product(const or other, other)}
    for name, entry in table.items():
        first, second, _ = (_number(v.type) for v in variables(entry.program.pattern))
        if frozenset((first, second)) in pairs:
            yield name


def has_bytes(p: Program) -> bool:
    """True if a program has bytes as inputs."""
    return bool(_bytes(p, False))


def has_narrow(p: Program) -> bool:
    """True if a program has numbers as inputs that are narrower than floats, which hold them
    exactly."""
    inputs = (leaves(param.var.type) for param in p.params if not param.const)
    return any(t in NARROW for types in inputs for t in types)


def _bytes(p: Program, const: bool) -> set[Scalar | Vector]:
    held = (leaves(param.var.type) for param in p.params if param.const == const)
    return {t for types in held for t in types} & {CHAR, UCHAR}


def _number(t: Type) -> Scalar | Vector:
    """The type of the numbers of an array, or of a number."""
    (found,) = leaves(t)
    return found
