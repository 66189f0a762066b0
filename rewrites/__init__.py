"""How programs are lowered: laws, the strategies that compose them, and the families of results."""

from rewrites.catalogue.forms import FAMILIES, Form, Lowering, first, forms, lower
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Derivation, Rule, Step, Unsound

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
