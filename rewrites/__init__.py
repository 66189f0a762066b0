"""The lowering of programs: laws between terms, strategies that compose laws, and families of ways
to lower."""

from rewrites.engine.derivation import Derivation
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rule, Step, Unsound
from rewrites.families.all_families import FAMILIES, first, forms
from rewrites.tuning.family import Family, Form
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering

__all__ = [
    "FAMILIES",
    "Derivation",
    "Family",
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
