"""Indices and conditions as OpenCL C text.

C's `/` and `%` round towards zero, an index's towards −∞. They agree on operands that are not
negative, so an operand that may be is first shifted by a multiple of the divisor.

`names` gives the text of an atom by its key: of a variable, whose key is its name, or of a part
(see `parts`) that the kernel has computed before. Without an entry a variable is its own name.
"""

from collections.abc import Iterator, Mapping

from codegen.index.assumptions import grounds_first
from codegen.index.atoms import Assume, Atom, Max, Min, Product, Quot, Rem, Var
from codegen.index.condition import ALWAYS, NEVER, Condition
from codegen.index.index import Index, Term, shifted, summed
from codegen.index.substitute import unassumed

Names = Mapping[str, str]

INT_MIN, INT_MAX = -(2**31), 2**31 - 1


def to_c(index: Index, names: Names | None = None, wide: bool = False) -> str:
    """The text of an index as an expression of `int`s, or of `long`s if `wide`, for a place where
    the assumptions in the index hold, since the guards there ensure them; `names` gives the texts
    of atoms by their keys."""
    return _sum(index, _Spelling(names or {}, wide))


def to_c_anywhere(index: Index, names: Names, wide: bool) -> str:
    """The text of an index as an expression of `int`s, or of `long`s if `wide`, which is defined
    also at a place where the assumptions in the index do not hold; `names` gives the texts of atoms
    by their keys."""
    return _sum(index, _Spelling(names, wide, anywhere=True))


def condition_to_c(condition: Condition, names: Names | None = None, wide: bool = False) -> str:
    """The text of a condition as comparisons joined by `&&`, of `int`s, or of `long`s if `wide`,
    each with only additions on its sides, after those that ensure what it assumes; `names` gives
    texts of atoms."""
    spelling = _Spelling(names or {}, wide)
    if condition in (ALWAYS, NEVER):
        return "1" if condition == ALWAYS else "0"
    ordered = sorted(condition.parts, key=lambda part: _sides(part)[1], reverse=True)
    return " && ".join(
        f"{_sum(left, spelling)} {sign} {_sum(right, spelling)}"
        for left, sign, right in map(_sides, grounds_first(ordered))
    )


def counter(n: int) -> str:
    """The C type of a variable that counts from 0 to n."""
    return "int" if n <= INT_MAX else "long"


def needs_64(x: Index | Condition) -> bool:
    """True if some value on the way to the result may lie outside 32 bits."""
    if isinstance(x, Condition):
        sides = [side for part in x.parts for side in _sides(part)[::2]]
        return any(needs_64(side) for side in sides)
    terms, constant = _spelled(x, PLAIN)
    low, high = min(0, constant), max(0, constant)
    for atom, k in terms:
        if atom.lo is None or atom.hi is None or any(map(needs_64, _operands(atom))):
            return True
        if isinstance(atom, Product) and _product_is_wide(atom):
            return True
        shift = _shift(atom, atom.index.lo) if isinstance(atom, Quot) else 0
        least, most = atom.lo + shift, atom.hi + shift
        ends = (0, least, most, k * least, k * most)
        low, high = low + min(ends), high + max(ends)
    return max(-low, high) > INT_MAX


def parts(index: Index) -> Iterator[Atom]:
    """The atoms of an index that cost operations, inner ones first: worth a name where they
    recur."""
    for atom, _ in index.terms:
        yield from _parts_of(atom)


class _Spelling:
    """The way an expression is spelled: the names of variables, whether they are 64 bits wide, and
    whether the expression stands where its assumptions need not hold."""

    __slots__ = ("anywhere", "names", "wide")

    def __init__(self, names: Names, wide: bool, anywhere: bool = False) -> None:
        self.names = names
        self.wide = wide
        self.anywhere = anywhere

    def least(self, atom: Quot | Rem) -> int | None:
        """The least value that the dividend of a quotient or remainder can have; None if it is
        unknown. Assumptions of the dividend count unless the text may run where they do not hold
        (`anywhere`)."""
        return (unassumed(atom.index) if self.anywhere else atom.index).lo

    def variable(self, key: str) -> str:
        name = self.names.get(key, key)
        return f"(long){name}" if self.wide else name

    def number(self, n: int) -> str:
        if n <= INT_MIN:  # C has no negative literals: -2147483648 would be a long there
            return f"({n + 1}{'' if n == INT_MIN and not self.wide else 'L'} - 1)"
        return f"{n}L" if self.wide or n > INT_MAX else str(n)


PLAIN = _Spelling({}, wide=False)


# sums


def _sum(x: Index, spelling: _Spelling) -> str:
    terms, constant = _spelled(x, spelling)
    if not terms:
        return spelling.number(constant)
    first = spelling.number(constant) if constant > 0 and terms[0][1] < 0 else ""
    text = first
    for atom, k in terms:
        sign = "-" if k < 0 else "+"
        term = _scaled(atom, abs(k), spelling)
        text += f" {sign} {term}" if text else _negated(term) if k < 0 else term
    if constant and not first:
        text += f" {'-' if constant < 0 else '+'} {spelling.number(abs(constant))}"
    return text


def _negated(term: str) -> str:
    """The text of a sum that begins by subtracting the term; the term is in parentheses if it
    divides."""
    return f"-({term})" if "/" in term or "%" in term else f"-{term}"


def _spelled(x: Index, spelling: _Spelling) -> tuple[list[Term], int]:
    """The terms of an index in the order of the text, positive and large ones first, and the
    index's constant less all shifts of divisions."""
    constant = x.constant
    for atom, k in x.terms:
        if isinstance(atom, Quot) and atom.key not in spelling.names:
            constant -= k * _shift(atom, spelling.least(atom))
    return sorted(x.terms, key=lambda term: (term[1] < 0, -abs(term[1]))), constant


def _scaled(atom: Atom, k: int, spelling: _Spelling) -> str:
    text = _atom(atom, spelling)
    return text if k == 1 else f"{text} * {spelling.number(k)}"


# atoms


def _atom(atom: Atom, spelling: _Spelling) -> str:
    """The text of an atom as a C multiplicative expression. A quotient whose dividend was shifted
    by s·d is s too large, for which the constant of the sum around it makes up."""
    if atom.key in spelling.names:
        return spelling.variable(atom.key)
    match atom:
        case Var(key=name):
            return spelling.variable(name)
        case Quot(divisor=d):
            least = spelling.least(atom)
            text, by = _primary(_dividend(atom, least), spelling), spelling.number(d)
            if least is None:
                return f"({text} < 0 ? ({text} + 1) / {by} - 1 : {text} / {by})"
            return f"{text} / {by}"
        case Rem(divisor=d):
            least = spelling.least(atom)
            text, by = _primary(_dividend(atom, least), spelling), spelling.number(d)
            return f"({text} % {by} + {by}) % {by}" if least is None else f"{text} % {by}"
        case Product(factors=factors):
            return " * ".join(_primary(summed(((f, 1),), 0), spelling) for f in factors)
        case Min(left=x, right=y):
            return f"min({_sum(x, spelling)}, {_sum(y, spelling)})"
        case Max(left=x, right=y):
            return f"max({_sum(x, spelling)}, {_sum(y, spelling)})"
        case Assume(index=x):
            return _primary(x, spelling)


def _primary(x: Index, spelling: _Spelling) -> str:
    """The text of an index as an operand of `/`, `%` or `*`."""
    text = _sum(x, spelling)
    match x.terms:
        case ((Var() | Min() | Max(), 1),) if x.constant == 0:
            return text
        case ((Assume(index=known), 1),) if x.constant == 0:
            return _primary(known, spelling)
        case ((atom, 1),) if x.constant == 0 and atom.key in spelling.names:
            return text
    return f"({text})"


def _shift(atom: Quot | Rem, least: int | None) -> int:
    """The s ≥ 0 for which the operand x, at least `least`, is never negative after s·d is added:
    (x + s·d) // d = x // d + s."""
    return 0 if least is None or least >= 0 else -(least // atom.divisor)


def _dividend(atom: Quot | Rem, least: int | None) -> Index:
    """The operand x of a division, at least `least`, shifted so that it is never negative:
    (x + s·d) % d = x % d."""
    return shifted(atom.index, _shift(atom, least) * atom.divisor)


# comparisons


def _sides(part: Index) -> tuple[Index, str, Index]:
    """The comparison `part` ≥ 0, which has the form x − y + c ≥ 0, as its left side, its sign and
    its right side: x ≥ y − c, y ≤ x + c, or y < x + c + 1."""
    left = summed(tuple([term for term in part.terms if term[1] > 0]), 0)
    right = summed(tuple([(atom, -k) for atom, k in part.terms if k < 0]), 0)
    c = part.constant
    if not left.terms or (right.terms and c == -1):
        return right, "<", shifted(left, c + 1)
    if right.terms and c > 0:
        return right, "<=", shifted(left, c)
    return left, ">=", shifted(right, -c)


# what an atom is made of


def _operands(atom: Atom) -> tuple[Index, ...]:
    match atom:
        case Var():
            return ()
        case Quot() | Rem():
            return (_dividend(atom, atom.index.lo),)
        case Assume(index=x):
            return (x,)
        case Min(left=x, right=y) | Max(left=x, right=y):
            return (x, y)
        case Product(factors=factors):
            return tuple(summed(((f, 1),), 0) for f in factors)


def _product_is_wide(atom: Product) -> bool:
    """True if a product may leave 32 bits at some step; factors are multiplied from left to
    right."""
    size = 1
    for factor in atom.factors:
        if factor.lo is None or factor.hi is None:
            return True
        size *= max(1, abs(factor.lo), abs(factor.hi))
    return size > INT_MAX


def _parts_of(atom: Atom) -> Iterator[Atom]:
    if isinstance(atom, Var):
        return
    for operand in _operands(atom):
        yield from parts(operand)
    if not isinstance(atom, Assume):
        yield atom
