"""The family `naive`: every result by a work-item of its own, without parameters."""

# key: p program

from collections.abc import Iterator

from ir.core.nodes import Program
from rewrites.engine.rule import Strategy
from rewrites.kernels.naive import naive
from rewrites.tuning.family import Family, Form, Tuning, Way, parameter_names


def _strategy(params: frozenset[str], _: None) -> Strategy:
    return naive(params)


def _forms(p: Program) -> Iterator[Form]:
    yield Form("naive", (), Way(_strategy, parameter_names(p), None), TUNING)


TUNING = Tuning("naive", {})
FAMILY = Family("naive", "a work-item makes one result, as the program says", _forms)
