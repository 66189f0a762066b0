"""Forms of every family for a program that is prepared first: zero points are taken out of its
sums, or sums of narrow numbers are kept in another type. A preparation may change the loops that
the family makes, too.

A preparation has a trait of its own. The forms of a family come once as they are, and once more for
each preparation that changes the program.
"""

# key: p program, s strategy

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import lru_cache

from ir.core.frozen import frozen
from ir.core.nodes import Program
from rewrites.engine.rule import Strategy
from rewrites.engine.strategy import seq, skip
from rewrites.nest.prepared_sums import (
    narrow_sums,
    sums_in_float,
    sums_in_int,
    widened,
    zero_points_apart,
)
from rewrites.nest.turns_afresh import TERMS, turns_afresh, turns_apart
from rewrites.tuning.family import Family, Form, Parameter, Trait, Way, parameter_names


@frozen
class Preparation:
    """A change of a program before a family lowers it: the trait of the forms that begin with it;
    `strategy`, which makes it, and fails where there is nothing to change; `lowered`, which changes
    the lowered program afterwards; and the parameters that it adds."""

    trait: Trait
    strategy: Callable[[], Strategy]
    lowered: Strategy = skip
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


TURNS = Parameter("terms of a turn, where a family's loop has none")
PREPARATIONS = {
    made.trait.word: made
    for made in (
        Preparation(
            Trait("zero-points", "zero points are taken from sums, not from each factor"),
            zero_points_apart,
        ),
        Preparation(
            Trait("in-float", "sums of halves and bfloats are kept in floats"), sums_in_float
        ),
        Preparation(
            Trait(
                "in-ints",
                "sums of bytes are kept in ints, where floats are exact",
                weight=8.0,  # the fastest on a CPU (by pairs) and on a GPU (by dot products)
            ),
            sums_in_int,
        ),
        Preparation(
            Trait("widened", "narrow numbers are stored as floats before", stores=True), widened
        ),
        Preparation(
            Trait(
                *("in-chunks", "turns of loops sum up in their type, from zero, then in floats"),
                paired=4.0,
            ),
            sums_in_float,
            turns_afresh,
            {TERMS: TURNS},
        ),
        Preparation(
            Trait(
                *("in-turns", "turns of loops sum up from zero, then in their type"),
                weight=0.25,  # less exact than `in-chunks`, and no faster where nothing is paired
                paired=16.0,
            ),
            narrow_sums,
            turns_apart,
            {TERMS: TURNS},
        ),
    )
}


@frozen
class _Prepared:
    """The choices of a form that begins with a preparation: the word of the preparation's trait,
    and the strategy `lowered` of the family's own form, which lowers the prepared program."""

    word: str
    lowered: Strategy


def _prepare_first(_: frozenset[str], form: _Prepared) -> Strategy:
    made = PREPARATIONS[form.word]
    return seq(made.strategy(), form.lowered, made.lowered)


@lru_cache(maxsize=64)
def preparations(p: Program) -> tuple[Preparation, ...]:
    """The preparations that change the program p."""
    return tuple(made for made in PREPARATIONS.values() if made.strategy()(p.body) is not None)


@frozen
class _Forms:
    """The forms of a family for a program: its `own`, and each of these once more for each
    preparation that changes the program."""

    own: Callable[[Program], Iterator[Form]]

    def __call__(self, p: Program) -> Iterator[Form]:
        every = tuple(self.own(p))
        yield from every
        for made in preparations(p):
            yield from (_prepared(p, made, form) for form in every)


def _prepared(p: Program, made: Preparation, form: Form) -> Form:
    way = Way(_prepare_first, parameter_names(p), _Prepared(made.trait.word, form.strategy))
    tuning = replace(form.tuning, parameters={**form.tuning.parameters, **made.parameters})
    return Form(form.family, (*form.traits, made.trait), way, tuning)


def with_preparations(family: Family) -> Family:
    """The family with its forms also for programs that are prepared first."""
    return replace(family, forms=_Forms(family.forms))
