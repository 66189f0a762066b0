"""The inverses of bijections on indices, which a `reorder` of a result needs."""

# key: f the bijection, i its argument, j its result, d divisor, m extent, k weight

from collections.abc import Callable

from codegen.index.atoms import Atom, Quot, Rem, Var
from codegen.index.index import Index, constant, var
from codegen.index.substitute import evaluate, substitute
from ir.core.frozen import frozen

NAME = "inverse_"
MOST_ARGUMENTS = 256  # of a bijection that is tried on each


@frozen
class Digit:
    """A digit (i // d) % m of an index i, which a bijection multiplies by k."""

    d: int
    m: int
    k: int


def inverse(f: Callable[[Index], Index], n: int) -> Callable[[Index], Index] | None:
    """The function g with f(g(j)) = j for 0 ≤ j < n, for an f that moves digits of mixed-radix
    numbers, or that undoes itself; None for another f."""
    i = var(NAME, 0, n - 1)
    image = f(i)
    for back in (_rotated(image, n), _digits_back(image, n), f):
        if back is not None and _undoes(back(i), image, n):
            return back
    return None


def _undoes(back: Index, image: Index, n: int) -> bool:
    """True if the index `image` of the index `back` is the argument itself, by its normal form or,
    for few arguments, one by one."""
    if substitute(image, {NAME: back}) == var(NAME, 0, n - 1):
        return True
    every = ((j, {NAME: evaluate(back, {NAME: j})}) for j in range(n))
    return n <= MOST_ARGUMENTS and all(evaluate(image, at) == j for j, at in every)


def _rotated(image: Index, n: int) -> Callable[[Index], Index] | None:
    match image.terms:
        case ((Rem(index=x, divisor=d), 1),) if d == n and image.constant == 0:
            if x - x.constant == var(NAME, 0, n - 1):
                return lambda j: (j - x.constant) % n
    return None


def _digits_back(image: Index, n: int) -> Callable[[Index], Index] | None:
    digits = [_digit(atom, k, n) for atom, k in image.terms]
    known = [digit for digit in digits if digit is not None]
    if len(known) != len(digits):
        return None
    start = image.constant + sum(g.k * (g.m - 1) for g in known if g.k < 0)

    def back(j: Index) -> Index:
        total = constant(0)
        for g in known:
            digit = ((j - start) // abs(g.k)) % g.m
            total += (digit if g.k > 0 else g.m - 1 - digit) * g.d
        return total

    return back


def _digit(atom: Atom, k: int, n: int) -> Digit | None:
    match atom:
        case Var():
            return Digit(1, n, k)
        case Quot(index=x, divisor=d) if _is_argument(x):
            return Digit(d, -(-n // d), k)
        case Rem(index=x, divisor=m) if _is_argument(x):
            return Digit(1, m, k)
        case Rem(index=x, divisor=m):
            match x.terms:
                case ((Quot(index=y, divisor=d), 1),) if x.constant == 0 and _is_argument(y):
                    return Digit(d, m, k)
    return None


def _is_argument(x: Index) -> bool:
    return x.constant == 0 and len(x.terms) == 1 and x.terms[0][0].key == NAME
