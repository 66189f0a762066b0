"""Sizes: integers, names and tuning parameters under + - *, exact and floor division, remainder.

A size is a Python int as soon as it can be, else a `Nat`: a quotient of two polynomials over atoms.
Exact division is a true quotient (`k * (n/k) = n`), so its divisibility is an obligation that
`denominator` still shows; floor division and remainder are atoms of their own.
"""

# key: a b sizes, p q polynomials, m monomial, k integer coefficient

from collections.abc import Mapping
from functools import lru_cache

from ir.core import polynomial
from ir.core.hash_once import Hashed, hashed
from ir.core.polynomial import Atomic, add, lowest, multiply, of_terms, scale, times


@hashed
class Name(Atomic):
    """The atom that is a named size or a tuning parameter."""

    name: str


@hashed
class Floor(Atomic):
    """The atom floor(a / b)."""

    a: "Size"
    b: "Size"


@hashed
class Mod(Atomic):
    """The atom a mod b = a - b * floor(a / b)."""

    a: "Size"
    b: "Size"


Atom = Name | Floor | Mod
Monomial = polynomial.Monomial[Atom]
Poly = polynomial.Poly[Atom]

ONE: Poly = polynomial.ONE


@hashed
class Nat(Hashed):
    """The size num / den in lowest terms, as far as monomials and exact polynomial division go."""

    num: Poly
    den: Poly

    def __add__(self, other: "Size") -> "Size":
        a, b = self, _nat(other)
        if a.den == b.den:
            return quotient(add(a.num, b.num), a.den)
        return quotient(add(multiply(a.num, b.den), multiply(b.num, a.den)), multiply(a.den, b.den))

    __radd__ = __add__

    def __neg__(self) -> "Size":
        return quotient(scale(self.num, -1), self.den)

    def __sub__(self, other: "Size") -> "Size":
        return self + -_nat(other)

    def __rsub__(self, other: "Size") -> "Size":
        return -self + other

    def __mul__(self, other: "Size") -> "Size":
        b = _nat(other)
        return quotient(multiply(self.num, b.num), multiply(self.den, b.den))

    __rmul__ = __mul__

    def __str__(self) -> str:
        return show_size(self)


Size = int | Nat


@lru_cache(maxsize=1 << 12)
def named(name: str) -> Nat:
    """The size that is just the name."""
    return Nat(((((Name(name), 1),), 1),), ONE)


def exact(a: Size, b: Size) -> Size:
    """The size a / b, where b must divide a; `denominator` shows what is left to prove."""
    if isinstance(a, int) and isinstance(b, int) and b != 0 and a % b == 0:
        return a // b
    x, y = _nat(a), _nat(b)
    if not y.num:
        raise ZeroDivisionError("a size is divided by zero")
    return quotient(multiply(x.num, y.den), multiply(x.den, y.num))


def floor_div(a: Size, b: Size) -> Size:
    """The size floor(a / b)."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    whole = exact(a, b)
    over, under = numerator(whole), denominator(whole)
    if isinstance(over, int) and isinstance(under, int):
        return over // under
    return whole if under == 1 else quotient(((((Floor(a, b), 1),), 1),), ONE)


def remainder(a: Size, b: Size) -> Size:
    """The size a mod b."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    return 0 if denominator(exact(a, b)) == 1 else quotient(((((Mod(a, b), 1),), 1),), ONE)


def ceil_div(a: Size, b: Size) -> Size:
    """The size ceil(a / b), where b is positive or a number."""
    if isinstance(b, int) and b < 0:
        return ceil_div(-a, -b)
    times, rest = _multiples(a, b)
    return times + (floor_div(rest + b - 1, b) if rest != 0 else 0)


def _multiples(a: Size, b: Size) -> tuple[Size, Size]:
    """The sizes q and r with a = q*b + r, where q collects the terms of a that are whole multiples
    of b."""
    x, y = _nat(a), _nat(b)
    if x.den != ONE or y.den != ONE or len(y.num) != 1:
        return 0, a
    monomial, k = y.num[0]
    held = [(times(m, monomial, -1), c) for m, c in x.num]
    whole = [c % k == 0 and all(power > 0 for _, power in m) for m, c in held]
    kept = of_terms({m: c // k for (m, c), is_whole in zip(held, whole, strict=True) if is_whole})
    q = quotient(kept, ONE)
    return q, a - q * b


def round_up(a: Size, b: Size) -> Size:
    """The least multiple of b that is at least a."""
    return ceil_div(a, b) * b


def denominator(a: Size) -> Size:
    """The denominator of the size a, which must divide its numerator; 1 if a is always whole."""
    return 1 if isinstance(a, int) else quotient(a.den, ONE)


def numerator(a: Size) -> Size:
    """The numerator of a, which `denominator` must divide."""
    return a if isinstance(a, int) else quotient(a.num, ONE)


def same(a: Size, b: Size) -> bool:
    """True if a and b have one normal form; both are multiplied out, so that quotients are compared
    exactly."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    x, y = _nat(a), _nat(b)
    return multiply(x.num, y.den) == multiply(y.num, x.den)


def names(a: Size) -> frozenset[str]:
    """The names that occur in a size."""
    return frozenset() if isinstance(a, int) else _names(a)


@lru_cache(maxsize=1 << 14)
def _names(a: Nat) -> frozenset[str]:
    found: set[str] = set()
    for atom in _atoms(a):
        found |= {atom.name} if isinstance(atom, Name) else names(atom.a) | names(atom.b)
    return frozenset(found)


def bind(a: Size, values: Mapping[str, Size]) -> Size:
    """The size a with the sizes `values` in place of names, normalised."""
    if isinstance(a, int):
        return a
    if not names(a) & values.keys():
        return a
    return exact(_bind_poly(a.num, values), _bind_poly(a.den, values))


def _bind_poly(p: Poly, values: Mapping[str, Size]) -> Size:
    total: Size = 0
    for monomial, k in p:
        term: Size = k
        for atom, power in monomial:
            for _ in range(power):
                term = term * _bind_atom(atom, values)
        total = total + term
    return total


def _bind_atom(atom: Atom, values: Mapping[str, Size]) -> Size:
    match atom:
        case Name(name):
            return values[name] if name in values else named(name)
        case Floor(a, b):
            return floor_div(bind(a, values), bind(b, values))
        case Mod(a, b):
            return remainder(bind(a, values), bind(b, values))


def _atoms(a: Nat) -> list[Atom]:
    return [atom for p in (a.num, a.den) for monomial, _ in p for atom, _ in monomial]


def _nat(a: Size) -> Nat:
    if isinstance(a, Nat):
        return a
    return Nat((((), a),) if a else (), ONE)


@lru_cache(maxsize=100_000)
def quotient(num: Poly, den: Poly) -> Size:
    """The size num / den, normalised; an int where it can be."""
    if not num:
        return 0
    num, den = lowest(num, den)
    if den == ONE and len(num) == 1 and num[0][0] == ():
        return num[0][1]
    return Nat(num, den)


@lru_cache(maxsize=1 << 14)
def show_size(a: Size) -> str:
    """The text of a size in the language's own syntax."""
    if isinstance(a, int):
        return str(a)
    top = _show_poly(a.num)
    if a.den == ONE:
        return top
    bottom = _show_poly(a.den)
    return f"{_wrap(top, len(a.num) > 1)} / {_wrap(bottom, not _single(a.den))}"


def _single(p: Poly) -> bool:
    return len(p) == 1 and sum(n for _, n in p[0][0]) + (p[0][1] != 1) == 1


def _wrap(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def _show_poly(p: Poly) -> str:
    parts = [_show_term(m, k) for m, k in reversed(p)]
    return " + ".join(parts).replace("+ -", "- ")


def _show_term(m: Monomial, k: int) -> str:
    powers, factors = dict(m), []
    for atom in powers:
        rounded = _rounded_up(atom, powers, k)
        if rounded is not None:
            text, powers, k = rounded
            factors.append(text)
    factors = [_show_atom(atom) for atom, n in powers.items() for _ in range(n)] + factors
    if k == -1 and factors:
        return "-" + " * ".join(factors)
    return " * ".join(([str(k)] if k != 1 or not factors else []) + factors)


def _rounded_up(
    atom: Atom, powers: Mapping[Atom, int], k: int
) -> tuple[str, dict[Atom, int], int] | None:
    """The text round_up(n, b), which stands for two factors of a product, ceil(n, b) and b; and
    what is left of the product, as powers of atoms and a number. The product is k times `powers`,
    and `atom` is its factor ceil(n, b). None if it has no such factors."""
    n = _ceiling_of(atom)
    if not isinstance(atom, Floor) or n is None or not powers[atom]:
        return None
    multiple = _nat(atom.b)
    (factors, c), *more = multiple.num
    left = {a: power - dict(factors).get(a, 0) for a, power in powers.items()}
    left[atom] -= 1
    held = all(a in left for a, _ in factors) and min(left.values()) >= 0
    if more or multiple.den != ONE or k % c or not held:
        return None
    return f"round_up({show_size(n)}, {show_size(atom.b)})", left, k // c


def _ceiling_of(atom: Atom) -> Size | None:
    """The size n if the atom floor(n + b - 1, b) is clearer written as ceil(n, b), and is what that
    stands for; else None. (ceil(0, b) is 0 for every b, also for one that may be 0 or less.)"""
    if not isinstance(atom, Floor):
        return None
    n = atom.a - atom.b + 1
    clearer = _terms(n) < _terms(atom.a)
    return n if clearer and ceil_div(n, atom.b) == quotient(((((atom, 1),), 1),), ONE) else None


def _terms(a: Size) -> int:
    return len(_nat(a).num)


def _show_atom(atom: Atom) -> str:
    match atom:
        case Name(name):
            return name
        case Floor(a, b):
            n = _ceiling_of(atom)
            word, over = ("floor", a) if n is None else ("ceil", n)
            return f"{word}({show_size(over)}, {show_size(b)})"
        case Mod(a, b):
            return f"(({show_size(a)}) % ({show_size(b)}))"
