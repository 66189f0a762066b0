"""How programs are lowered: laws, the strategies that compose them, and the families of results."""

from rewrites.dims import Refused
from rewrites.families import FAMILIES, Form, Lowering, first, forms, lower
from rewrites.rule import Derivation, Rule, Step, Unsound

__all__ = [
    "FAMILIES",
    "Derivation",
    "Form",
    "Lowering",
    "Refused",
    "Rule",
    "Step",
    "Unsound",
    "first",
    "forms",
    "lower",
]
