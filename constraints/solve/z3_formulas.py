"""Relations as Z3 formulas over unbounded integers, with divisibility by a quotient variable n =
m*q."""

# key: a b m n sizes, p polynomial, d e denominators

from dataclasses import dataclass, field
from typing import TypeAlias

import z3

from constraints.relations.relations import (
    AllOf,
    AnyOf,
    AtMost,
    Divides,
    Equal,
    OneOf,
    Relation,
    fraction,
    surely_positive,
)
from ir.core.size import Atom, Floor, Mod, Name, Size

Formula: TypeAlias = z3.BoolRef
Term: TypeAlias = z3.ArithRef


@dataclass(slots=True)
class Encoder:
    """The encoder of relations as formulas of one Z3 context; `facts` define the variables that it
    adds."""

    context: z3.Context
    facts: list[Formula] = field(default_factory=list)
    atoms: dict[Atom, Term] = field(default_factory=dict)
    fresh: int = 0

    def parameter(self, name: str) -> Term:
        """The Z3 variable for the parameter of this name."""
        return z3.Int(name, self.context)

    def variable(self, hint: str) -> Term:
        """A new Z3 variable, whose name begins with `hint`."""
        self.fresh += 1
        return z3.Int(f"{hint}!{self.fresh}", self.context)

    def relation(self, r: Relation) -> Formula:
        """The formula that the relation r holds."""
        match r:
            case Divides(m, n):
                return self._divides(m, n)
            case AtMost(a, b):
                x, y = self._scaled(a, b)
                return x <= y
            case Equal(a, b):
                x, y = self._crossed(a, b)
                return x == y
            case OneOf(a, values):
                num, den = self._pair(a)
                return z3.Or([z3.BoolVal(False, self.context), *(num == den * v for v in values)])
            case AllOf(parts):
                return z3.And([z3.BoolVal(True, self.context), *map(self.relation, parts)])
            case AnyOf(parts):
                return z3.Or([z3.BoolVal(False, self.context), *map(self.relation, parts)])

    def negation(self, r: Relation) -> Formula:
        """The formula that the relation r does not hold."""
        match r:
            case Divides(m, n):
                return self._leaves_rest(m, n)
            case AllOf(parts):
                return z3.Or([z3.BoolVal(False, self.context), *map(self.negation, parts)])
            case AnyOf(parts):
                return z3.And([z3.BoolVal(True, self.context), *map(self.negation, parts)])
        return z3.Not(self.relation(r), self.context)

    def _divides(self, m: Size, n: Size) -> Formula:
        x, y = self._crossed(m, n)
        q = self.variable("q")
        return z3.And(x >= 1, y == x * q)

    def _leaves_rest(self, m: Size, n: Size) -> Formula:
        x, y = self._crossed(m, n)
        q, rest = self.variable("q"), self.variable("r")
        return z3.Or(x <= 0, z3.And(y == x * q + rest, rest >= 1, rest < x))

    def _pair(self, a: Size) -> tuple[Term, Term]:
        num, den = fraction(a)
        return self.term(num), self.term(den)

    def _crossed(self, a: Size, b: Size) -> tuple[Term, Term]:
        """Z3 terms for a and b, both multiplied by both denominators, so that divisibility and
        equality are kept."""
        (x, d), (y, e) = self._pair(a), self._pair(b)
        return x * e, y * d

    def _scaled(self, a: Size, b: Size) -> tuple[Term, Term]:
        """Z3 terms for a and b, both multiplied by one positive number that makes them whole, so
        that order is kept."""
        if surely_positive(fraction(a)[1]) and surely_positive(fraction(b)[1]):
            return self._crossed(a, b)
        (x, d), (y, e) = self._pair(a), self._pair(b)
        return x * d * e * e, y * e * d * d

    def term(self, a: Size) -> Term:
        """The Z3 term of a size without a denominator."""
        if isinstance(a, int):
            return z3.IntVal(a, self.context)
        total: Term = z3.IntVal(0, self.context)
        for monomial, k in a.num:
            product: Term = z3.IntVal(k, self.context)
            for atom, power in monomial:
                for _ in range(power):
                    product = product * self._atom(atom)
            total = total + product
        return z3.simplify(total)

    def _atom(self, atom: Atom) -> Term:
        if isinstance(atom, Name):
            return self.parameter(atom.name)
        if atom not in self.atoms:
            self.atoms[atom] = self._defined(atom)
        return self.atoms[atom]

    def _defined(self, atom: Floor | Mod) -> Term:
        """The Z3 variable for a floor or remainder; added facts define it by b*q <= a < b*q + b for
        b >= 1."""
        a, b = self._crossed(atom.a, atom.b)
        q = self.variable("f")
        self.facts.append(z3.Implies(b >= 1, z3.And(b * q <= a, a < b * q + b)))
        return q if isinstance(atom, Floor) else self.term_of_rest(atom, q)

    def term_of_rest(self, atom: Mod, q: Term) -> Term:
        """The new Z3 variable that an added fact makes equal to the remainder a - b*q, where the
        atom is a mod b and q is the term of the quotient."""
        rest = self.variable("r")
        (x, d), (y, e) = self._pair(atom.a), self._pair(atom.b)
        self.facts.append(rest * d * e == x * e - y * d * q)
        return rest
