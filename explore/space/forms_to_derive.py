"""Which forms are derived: some from the start, others once one that is like them is good."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from constraints.devices import Profile
from explore.results.options import Domain
from ir.core.nodes import Program
from rewrites.catalogue.forms import DISTINCT, forms
from rewrites.catalogue.values_worth_trying import weight

LEAST = 4  # points of a form
EACH = 80  # candidates of a family for each of its forms that is derived from the start
FEWEST = 4  # forms of a family, if it has as many


@dataclass(frozen=True, slots=True)
class Derive:
    """A form of a family to be derived, and how many points of it to draw."""

    program: Program
    family: str
    form: str
    profile: Profile
    points: int
    seed: int
    max_memory: int | None = None
    domain: Domain | None = None


def all_forms(program: Program, families: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Families and the names of their forms."""
    for family in families:
        for form in forms(program, family):
            yield family, form.name


def tasks(
    program: Program,
    profile: Profile,
    *,
    families: Sequence[str] = (),
    budget: int,
    seed: int,
    max_memory: int | None = None,
    domain: Domain | None = None,
) -> list[Derive]:
    """What to derive for about `budget` candidates, as many of each family and form. With a small
    budget some forms only: each is worth a few points."""
    found: list[Derive] = []
    known = {f: _names(program, f) for f in families or tuple(DISTINCT)}
    several = [f for f, names in known.items() if len(names) > 1]
    for family, names in known.items():
        share = max(1, budget // max(1, len(several)))
        chosen = _drawn(names, family, profile, seed)[: max(FEWEST, share // EACH)]
        points = max(LEAST, -(-share // len(chosen)))
        found += [
            Derive(program, family, n, profile, points, seed, max_memory, domain) for n in chosen
        ]
    return found


def others(todo: Sequence[Derive]) -> list[Derive]:
    """The other forms of the same families, in the order in which they would be drawn. Half as many
    points of each will do: it gets those of its family that proved good."""
    known = {(task.family, task.form) for task in todo}
    return [
        replace(like, form=name, points=max(LEAST, like.points // 2))
        for like in {task.family: task for task in todo}.values()
        for name in _drawn(_names(like.program, like.family), like.family, like.profile, like.seed)
        if (like.family, name) not in known
    ]


def a_word_apart(form: str, other: str) -> bool:
    """Whether two forms differ by one word: one more, one less, or one in another's place."""
    a, b = set(form.split()), set(other.split())
    return max(len(a - b), len(b - a)) == 1


def _names(program: Program, family: str) -> list[str]:
    return [name for _, name in all_forms(program, [family])]


def _drawn(names: Sequence[str], family: str, profile: Profile, seed: int) -> list[str]:
    """The plain form, then all others in the order in which their weights draw them."""
    random = Random(f"{seed} {family}")
    drawn = {n: random.random() ** (1 / weight(n, profile.dedicated_local)) for n in names[1:]}
    # Efraimidis, Spirakis 2006: the largest first
    return [names[0], *sorted(drawn, key=drawn.__getitem__, reverse=True)]
