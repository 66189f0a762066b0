"""Families named by the view that they store, such as im2col: the algorithms of the literature.

Each takes its forms from `blocked` and `registers`: those that store just this view of the windows.
"""

# key: p program

from collections.abc import Iterator

from ir.core.frozen import frozen
from ir.core.nodes import Program
from rewrites.engine.rule import Strategy
from rewrites.engine.strategy import seq
from rewrites.families.blocked import BLOCKED, blocked_forms
from rewrites.families.registers import REGISTERS, registers_forms
from rewrites.storing.stored_views import Windows, windowed
from rewrites.tuning.family import Family, Form, Trait, Way, parameter_names
from rewrites.tuning.stored_forms import IM2COL, IM2WIN, MEC, PADDED, PADDED_VIEWS, Views


def _with_windows(_: frozenset[str], strategy: Strategy) -> Strategy:
    """The strategy that applies `strategy` to programs with windows, and refuses programs without
    windows."""
    return seq(windowed, strategy)


@frozen
class _Storing:
    """The function from a program to the forms of a family that stores one of `views`: those of
    `blocked` and `registers` that do. All of them have the traits `common`, which are left out of
    their names."""

    family: str
    views: Views
    common: tuple[Trait, ...]

    def __call__(self, p: Program) -> Iterator[Form]:
        for trait, forms in ((BLOCKED, blocked_forms), (REGISTERS, registers_forms)):
            for form in forms(p, self.views):
                rest = (t for t in form.traits if t not in self.common)
                strategy = Way(_with_windows, parameter_names(p), form.strategy)
                yield Form(self.family, (trait, *rest), strategy, form.tuning)


def _family(name: str, meaning: str, views: Views, *common: Trait) -> Family:
    forms = _Storing(name, views, common)
    return Family(name, meaning, forms, by_default=False, stores=common)


_NOTHING: Views = ((Windows.NONE, False),)
_IM2WIN: Views = ((Windows.IM2WIN, False), (Windows.IM2WIN_PLANES, False))
FAMILIES = (
    _family("implicit-gemm", "a matrix product of windows that are not stored", _NOTHING),
    _family("padded", "the padded image is stored", PADDED_VIEWS, PADDED),
    _family("im2col", "a matrix product of stored windows", ((Windows.IM2COL, False),), IM2COL),
    _family("im2win", "rows of windows are stored, in window order", _IM2WIN, IM2WIN),
    _family("mec", "windows along rows are stored", ((Windows.MEC, False),), MEC),
)
