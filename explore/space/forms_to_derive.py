"""The forms that are derived: some at the start, others once a similar one proves good."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from random import Random

from constraints.devices import Profile
from explore.options.options import Domain
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.core.types import HALF
from ir.instructions.table import MATRIX, TABLE
from ir.meaning.inputs import parts_of, scalar_of
from rewrites.families.all_families import BY_DEFAULT, forms
from rewrites.tuning.family import Form

LEAST = 4  # points of a form
EACH = 80  # candidates of a family for each of its forms that is derived from the start
FEWEST = 4  # forms of a family, if it has as many
LEADING = 4  # of its heaviest forms by matrix instructions, so many are derived soon
HEAVIEST = 4  # forms of a family, of which the first that applies stands for the heaviest


@frozen
class Derive:
    """A task to derive a form of a program for a device with this profile, and to draw `points` of
    its points by the seed, within the limit on memory, the domain, the limit on errors, and for
    inputs that hold numbers up to `largest`. With `soon` it comes before tasks without. Forms in
    `instead` may stand in for that form if it has no candidate."""

    program: Program
    form: Form
    profile: Profile
    points: int
    seed: int
    max_memory: int | None = None
    domain: Domain | None = None
    max_error: float = inf
    largest: float = inf
    soon: bool = False
    instead: tuple[Form, ...] = ()


def tasks(
    program: Program,
    profile: Profile,
    *,
    families: Sequence[str] = (),
    budget: int,
    seed: int,
    max_memory: int | None = None,
    domain: Domain | None = None,
    max_error: float = inf,
    largest: float = inf,
) -> list[Derive]:
    """The tasks that derive about `budget` candidates in all, as many for each family, and as many
    for each form of a family. `families` are those to derive (empty: those with forms of their
    own); the other arguments are fields of the tasks.

    With a small budget only some forms are derived, so that each gets a few points.
    """
    found: list[Derive] = []
    known = {
        f: _suited(program, f, profile, max_error, largest, asked=f in families)
        for f in families or BY_DEFAULT
    }
    several = [f for f, every in known.items() if len(every) > 1]
    for every in filter(None, known.values()):
        share = max(1, budget // max(1, len(several)))
        weights = _weights(every, program, profile)
        chosen = _drawn(every, weights, seed)[: max(FEWEST, share // EACH)]
        points = max(LEAST, -(-share // len(chosen)))
        found += [
            Derive(
                program=program,
                form=form,
                profile=profile,
                points=points,
                seed=seed,
                max_memory=max_memory,
                domain=domain,
                max_error=max_error,
                largest=largest,
                soon=0 < n <= LEADING and _multiplies(form),
                instead=() if n else _instead(form, every, weights),
            )
            for n, form in enumerate(chosen)
        ]
    return found


def others(todo: Sequence[Derive]) -> list[Derive]:
    """The tasks for the forms that `todo` lacks, of the families in it, in the order in which they
    would be drawn.

    A task draws half as many points as those in `todo`: once its form is derived, the good points
    of its family are tried in it, too.
    """
    known = {(task.form.family, task.form.name) for task in todo}
    return [
        replace(like, form=form, points=max(LEAST, like.points // 2), soon=False)
        for like in {task.form.family: task for task in todo}.values()
        for form in _forms_like(like)
        if (form.family, form.name) not in known
    ]


def _forms_like(like: Derive) -> list[Form]:
    """The forms of the family of the task `like` that suit its device, in the order in which they
    are tried."""
    p, profile = like.program, like.profile
    every = _suited(p, like.form.family, profile, like.max_error, like.largest)
    return _drawn(every, _weights(every, p, profile), like.seed)


def _suited(
    p: Program,
    family: str,
    profile: Profile,
    max_error: float,
    largest: float,
    *,
    asked: bool = True,
) -> Sequence[Form]:
    """The forms of a family that are worth trying: a device has their instructions, their products
    are not far worse than `max_error` allows (errors of products even out in sums), what additions
    cut off adds up to no more than it, and they take the `largest` number that inputs may hold.

    If the device has the instructions of none of them, there are none; but if the family was asked
    for by name (`asked`), there are those whose instructions the device can emulate.
    """
    right = (form for form in forms(p, family) if form.loses <= 2 * max_error)
    kept = (form for form in right if form.loses_in_sums <= max_error)
    every = [form for form in kept if form.largest >= largest]
    own = [form for form in every if form.instructions <= set(profile.instructions)]
    if own or not asked or profile.sub_groups:
        return own or (every if asked else ())
    return [form for form in every if all(TABLE[n].lanes == 1 for n in form.instructions)]


def _drawn(every: Sequence[Form], weights: Sequence[float], seed: int) -> list[Form]:
    """The forms of a family in the order in which they are tried: those that stand for many first
    (`_leading`); then all others in a random order, in which a form with a large weight tends to
    come early."""
    random = Random(f"{seed} {every[0].family}")
    keys = [random.random() ** (1 / weight) for weight in weights]
    # Efraimidis, Spirakis 2006: the largest first
    order = sorted(range(len(every)), key=keys.__getitem__, reverse=True)
    return [every[n] for n in dict.fromkeys([*_leading(every, weights), *order])]


def _weights(every: Sequence[Form], p: Program, profile: Profile) -> list[float]:
    """The weight of each form of a program on a device."""
    halves = profile.pairs_halves and _has_halves(p)
    gpu, local = profile.is_gpu, profile.dedicated_local
    return [form.weight(on_gpu=gpu, dedicated_local=local, pairs_halves=halves) for form in every]


def _by_weight(weights: Sequence[float]) -> list[int]:
    """The numbers of forms with these weights, the heaviest first."""
    return sorted(range(len(weights)), key=lambda n: -weights[n])


def _instead(form: Form, every: Sequence[Form], weights: Sequence[float]) -> tuple[Form, ...]:
    """The forms that may stand in for the first `form` of a family: the next ones by weight, and
    the plain one; none if it is the plain one itself."""
    heaviest = [every[n] for n in _by_weight(weights)[1:HEAVIEST]]
    return () if form is every[0] else (*heaviest, every[0])


def _leading(forms: Sequence[Form], weights: Sequence[float]) -> list[int]:
    """The numbers of the forms of a family, whose plain form is the first, that stand for many:
    what is like them can follow once they were measured.

    These are the heaviest of all and the plain one. Where matrix instructions make the products of
    some, the plain one comes first, then the heaviest of those, as many as weigh the same, but at
    most `LEADING`, then the heaviest of all."""
    by_weight = _by_weight(weights)
    instructed = [n for n in by_weight if _multiplies(forms[n])]
    if not instructed:
        return [by_weight[0], 0]
    alike = [n for n in instructed if weights[n] == weights[instructed[0]]]
    return [0, *alike[:LEADING], by_weight[0]]


def _multiplies(form: Form) -> bool:
    """True if matrix instructions make a form's products."""
    return bool(form.instructions & MATRIX.keys())


def _has_halves(p: Program) -> bool:
    """True if a parameter of the program is of halves."""
    types = (part for each in p.params for _, part in parts_of(each.var.type))
    return HALF in set(map(scalar_of, types))
