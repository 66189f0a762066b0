"""The relations of a system that need not be tested, since bounds of parameters or simpler
relations imply them."""

# key: r relation, m divisor, n size

from collections.abc import Iterable, Sequence

from constraints.relations.inequality import Positive, at_least_one, ceiling_of, floor_of, gap
from constraints.relations.parameter_bounds import Bounds, extreme
from constraints.relations.relations import AtMost, Divides, Relation
from ir.core.size import Size, denominator, exact


def relevant(relations: Iterable[Relation], found: Bounds) -> list[Relation]:
    """The relations that neither the bounds of parameters nor simpler relations imply."""
    every = list(dict.fromkeys(relations))
    positive = at_least_one(every) | {p for p, (low, _) in found.items() if low > 0}
    divided = _divided(every)
    return [r for r in every if not _guaranteed(r, found, positive, divided)]


Divided = dict[Size, list[Size]]


def _divided(relations: Sequence[Relation]) -> Divided:
    """For each divisor in a relation, the sizes that relations require to be its multiples."""
    found: Divided = {}
    for r in relations:
        match r:
            case Divides(m, n) if n != 0:
                found.setdefault(m, []).append(n)
    return found


def _guaranteed(r: Relation, found: Bounds, positive: Positive, divided: Divided) -> bool:
    match r:
        case AtMost(1, m) if m in divided:
            return True
        case AtMost(a, b):
            return _by_bounds(a, b, found, positive)
        case Divides(m, 0):
            return m in divided or _by_bounds(1, m, found, positive)
        case Divides(m, n):
            return any(_stronger(other, n) for other in divided.get(m, ()))
    return False


def _stronger(n: Size, than: Size) -> bool:
    """True if n divides `than`, and `than` does not divide n: `m | n` then implies `m | than`, and
    says more."""
    return denominator(exact(than, n)) == 1 and denominator(exact(n, than)) != 1


def _by_bounds(a: Size, b: Size, found: Bounds, positive: Positive) -> bool:
    """True if a <= b follows from the bounds alone: the largest a is no more than the least b."""
    difference = gap(a, b)
    if difference is None:
        return False
    most, least = 0, 0
    for term in difference:
        if term[1] > 0:
            above = ceiling_of(term)
            top = None if above is None else extreme(above, found, top=True)
            if top is None:
                return False
            most += top
        else:
            bottom = extreme(floor_of((term[0], -term[1]), positive), found, top=False)
            least += bottom or 0
    return most <= least
