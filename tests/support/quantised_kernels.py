"""Kernels of a program, lowered by a family in a form and at a point drawn at random, and whether
their results are right."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import numpy as np

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import Numbers
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower

TRIES = 12  # forms that are drawn before a family counts as one that refuses the program


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome of kernels that ran: their form, their text, and whether every device got the
    right result."""

    form: str
    source: str
    right: bool


def tried(
    program: Program,
    family: str,
    inputs: Mapping[str, Numbers],
    right: Numbers,
    *,
    sessions: tuple[Session, ...],
    r: Random,
) -> Tried | None:
    """The outcome of lowering `program` by a family in a random form and running it in each of
    `sessions` on `inputs`, where `right` is the right result; None if no form that was drawn
    applies."""
    every = forms(program, family)
    for form in r.sample(every, min(TRIES, len(every))):
        try:
            low = lower(program, form)
        except Refused:
            continue
        _, found = points(low, profile("cpu"), 1, seed=r.randrange(1 << 20))
        if found:
            made = generate(bound(low.program, found[0]), max_work_group=64)
            demand_proofs(made)
            built = (session.build(made.plan, checking=True)(inputs) for session in sessions)
            same = all(np.array_equal(np.asarray(out), right) for out in built)
            return Tried(form.name, made.plan.source, same)
    return None
