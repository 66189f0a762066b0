"""The laws of derivatives: what cotangent each operation of the language hands back to its
operands.

Each law takes a contribution to the result of an operation, and gives contributions to its
operands. A view changes the coordinates; a map hands on to the element of its own index; a sum has
one more index; a name that is used several times gets the contributions of all uses."""

# key: e term, c contribution, scope what variables are bound to

from dataclasses import replace

from ir.core.frozen import frozen
from ir.core.nodes import (
    Binary,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    MakeTuple,
    Map,
    Pad,
    Reduce,
    Select,
    Store,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import fresh
from ir.core.type_rules import COMPARISONS, size_of, type_of
from ir.core.views import is_view
from rewrites.adjoint.contributions import (
    Arrival,
    Contribution,
    Counted,
    Element,
    Frame,
    Named,
    Running,
    Scope,
    constant,
    found,
    plain,
)
from rewrites.adjoint.derivatives import is_equal, is_linear, of_choice, of_quotient, of_unary
from rewrites.adjoint.elements import kept, value
from rewrites.adjoint.made_on_the_way import inside, made, met, sums
from rewrites.adjoint.notebook import Notebook, scalar_in
from rewrites.adjoint.parameter_use import depends
from rewrites.adjoint.view_laws import handed_back, repeats
from rewrites.analysis.affine_access import Index, index
from rewrites.analysis.folds import Fold, fold_of, number
from rewrites.engine.refused import Refused, shown

Arrivals = list[Arrival]


@frozen
class Backward:
    """The way back through a program to the parameter called `parameter`. With `linear`, an
    operation that is not linear in it is refused. `book` keeps the indices, reads and arrays that
    are made on the way."""

    parameter: str
    linear: bool
    book: Notebook

    def of(self, e: Expr, scope: Scope, c: Contribution) -> Arrivals:
        """The contributions that arrive at variables and parameters if c is added to the cotangent
        of e."""
        if not depends(e, scope, self.parameter, c.path):
            return []
        c = self.book.settled(c)
        try:
            return self._of(e, scope, c)
        except Refused as refused:
            raise refused.at(e) from refused

    def depends(self, e: Expr, scope: Scope) -> bool:
        """True if e depends on the parameter, directly or through the variables in scope."""
        return depends(e, scope, self.parameter)

    def _of(self, e: Expr, scope: Scope, c: Contribution) -> Arrivals:
        match e:
            case Var(name, _):
                bound = found(scope, name)
                frame, path = bound if bound else (None, ())
                return [Arrival(name, frame, c.along(*path, *c.path))]
            case Get(i, a):
                return self.of(a, scope, c.along(i, *c.path))
            case MakeTuple(parts) | Zip(parts):
                return self.of(parts[c.path[0]], scope, c.along(*c.path[1:]))
            case Store(a):
                return self.of(a, scope, c)
            case Binary(op) if op in COMPARISONS:
                return []  # it is constant but where it jumps
            case Unary() | Binary() | Select():
                return self._number(e, scope, c)
            case Let(p, a, body):
                frame = Named(p, a, scope)
                return self._bound(self.of(body, frame, c), frame, a, scope)
            case Map(f, xs):
                return self._map(e, f, xs, scope, c)
            case Generate(int() as n, Lam(p, body)):
                c = inside(e, scope, c, 0, self.book)
                return self.of(body, Counted(p, n, c.coordinates[0], scope), c.tail())
            case Reduce():
                return self._reduce(e, scope, c)
        if isinstance(e, Pad) and self.depends(e.value, scope):
            raise Refused(
                "expected padding by a constant, found padding by a value that depends on "
                f"{self.parameter}"
            )
        handed = handed_back(e, scope, c, self.book)
        return [a for part, own in handed for a in self.of(part, scope, own)]

    # ---- maps and names

    def _map(self, e: Map, f: Lam, xs: Expr, scope: Scope, c: Contribution) -> Arrivals:
        alone = Counted(f.pattern, 1, constant(0), scope)
        if not is_view(f.body) or self.depends(f.body, alone):
            c = inside(e, scope, c, 0, self.book)
        frame = Element(f.pattern, xs, c.coordinates[0], scope)
        return self._bound(self.of(f.body, frame, c.tail()), frame, xs, scope)

    def _bound(self, all_: Arrivals, frame: Frame, e: Expr, scope: Scope) -> Arrivals:
        """The arrivals `all_` of a term inside `frame`, as seen from outside of the frame, which
        binds a pattern to e or to its elements. What has arrived at variables of that pattern is
        handed back through e; all other arrivals stay as they are."""
        left = [a for a in all_ if a.frame is not frame]
        own = [a.what for a in all_ if a.frame is frame]
        if isinstance(frame, Element):
            own = [c.at(frame.index, *c.coordinates) for c in own]
        own = [self.book.settled(c) for c in own]
        named = isinstance(frame, Named) and len(own) > 1 and repeats(e)
        if own and (named or not is_view(e)):
            own = met(e, scope, own, self.book)
        return [*left, *(a for c in own for a in self.of(e, scope, c))]

    # ---- sums

    def _reduce(self, e: Reduce, scope: Scope, c: Contribution) -> Arrivals:
        assert isinstance(e.f.pattern, tuple)
        acc, p = e.f.pattern
        n = size_of(e.xs)
        assert isinstance(n, int)
        k, fold = self.book.index(n), fold_of(e.f)
        if fold is not None and fold.op in ("max", "min"):
            return self._chosen(e, fold, scope, c, k)
        if (
            len(c.factors) > 1
            and not sums(c, e, scope, self.book)
            and all(map(plain, c.coordinates))
        ):
            c = made(e, scope, [c], self.book)
        frame = Element(p, e.xs, index(k), scope)
        running = Running(acc, frame)
        inner = replace(c, indices=(*c.indices, k))
        arrivals = self.of(e.f.body, running, inner)
        settled = self.book.settled
        left = [settled(a.what) for a in arrivals if a.frame is running]
        if left != [settled(inner)]:
            raise Refused(f"expected a sum, a largest or a smallest element, found {shown(e)}")
        passed = [a for a in arrivals if a.frame is not running]
        return [*self.of(e.init, scope, c), *self._bound(passed, frame, e.xs, scope)]

    def _chosen(self, e: Reduce, fold: Fold, scope: Scope, c: Contribution, k: Index) -> Arrivals:
        """The arrivals if c is added to the cotangent of e, the largest or smallest element (as
        `fold` says) of an array with the index k: the elements that are equal to it share its
        cotangent. Which elements these are is computed together with e and stored: if it were
        computed again, numbers might be rounded otherwise."""
        if self.linear:
            raise Refused(
                f"expected a program that is linear in {self.parameter}, found {fold.op} of a "
                "value that depends on it"
            )
        assert isinstance(e.f.pattern, tuple)
        p, t = e.f.pattern[1], type_of(e)
        best, count, total = (
            Var(fresh(word, self.book.taken), t) for word in ("best", "count", "total")
        )
        is_best = is_equal(best)
        tally = Binary("+", total, is_best(fold.term))
        counted = Reduce(is_best(e.init), Lam((total, p), tally), e.xs)
        named = Named(count, counted, Named(best, e, scope))
        frame = Element(p, e.xs, index(k), named)
        share = kept(Binary("/", is_best(fold.term), count), frame, (), (), self.book)
        inner = self.book.settled(replace(c, indices=(*c.indices, k)).times(share))
        inside = self._bound(self.of(fold.term, frame, inner), frame, e.xs, scope)
        if not self.depends(e.init, scope):
            return inside
        first = self._times(c, Binary("/", is_best(e.init), count), named)
        return [*self.of(e.init, scope, first), *inside]

    # ---- numbers

    def _number(self, e: Unary | Binary | Select, scope: Scope, c: Contribution) -> Arrivals:
        return [
            arrival
            for operand, factor in self._factors(e, scope)
            if self.depends(operand, scope)
            for arrival in self.of(operand, scope, self._times(c, factor, scope))
        ]

    def _times(self, c: Contribution, factor: Expr | None, scope: Scope) -> Contribution:
        if factor is None:
            return c
        return self.book.settled(c.times(value(factor, scope, (), (), self.book)))

    def _factors(self, e: Unary | Binary | Select, scope: Scope) -> list[tuple[Expr, Expr | None]]:
        """The operands of the operation e, each with the factor that the cotangent of e is
        multiplied by to give that of the operand (None: 1)."""
        if self.linear:
            self._expect_linear(e, scope)
        match e:
            case Unary(_, a):
                return [(a, of_unary(e))]
            case Binary("+", a, b):
                return [(a, None), (b, None)]
            case Binary("-", a, b):
                return [(a, None), (b, number(-1, scalar_in(type_of(e))))]
            case Binary("*", a, b):
                return [(a, b), (b, a)]
            case Binary("/", a, b):
                return list(zip((a, b), of_quotient(e), strict=True))
            case Binary("max" | "min", a, b):
                return list(zip((a, b), of_choice(e), strict=True))
            case Select(c, a, b):
                one, zero = number(1, scalar_in(type_of(e))), number(0, scalar_in(type_of(e)))
                return [(a, Select(c, one, zero)), (b, Select(c, zero, one))]
        raise Refused(f"expected an operation that has a derivative, found {e.op}")

    def _expect_linear(self, e: Unary | Binary | Select, scope: Scope) -> None:
        match e:
            case Unary(op, _):
                good = is_linear(e)
            case Binary("+" | "-" as op, _, _):
                good = True
            case Binary("*" as op, a, b):
                good = not (self.depends(a, scope) and self.depends(b, scope))
            case Binary("/" as op, _, b):
                good = not self.depends(b, scope)
            case Select(c, _, _):
                op, good = "select", not self.depends(c, scope)
            case Binary(op, _, _):
                good = False
        if not good:
            raise Refused(
                f"expected a program that is linear in {self.parameter}, found {op} of a value "
                "that depends on it"
            )
