"""The laws of derivatives: what each operation of the language hands back to its operands.

Each law takes a contribution to what an operation makes, and gives those to what it makes it of.
A view is a change of coordinates, a map an element's own place, a sum one more index; what a name
stands for gets what comes to all of its uses.
"""

# key: e term, c contribution, scope what variables are bound to

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ir.core.nodes import (
    At,
    Binary,
    Concat,
    Edge,
    Expr,
    Generate,
    Get,
    Join,
    Lam,
    Let,
    MakeArray,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Reduce,
    Reorder,
    Slide,
    Split,
    Store,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import free, fresh, lam2, subterms, variables
from ir.core.type_rules import elem_of, size_of, type_of
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
    lies_inside,
    plain,
)
from rewrites.adjoint.dependence import depends
from rewrites.adjoint.derivatives import is_equal, is_linear, of_choice, of_quotient, of_unary
from rewrites.adjoint.edges import Run, runs_of, stride_of
from rewrites.adjoint.elements import value
from rewrites.adjoint.gather import gathered
from rewrites.adjoint.notebook import Notebook, leaf_type, scalar_in, sizes_in
from rewrites.analysis.affine_access import Affine, Index, NoAccess, index
from rewrites.analysis.folds import Fold, fold_of, number
from rewrites.engine.refused import Refused

Arrivals = list[Arrival]


@dataclass(frozen=True, slots=True)
class Backward:
    """The way back through a program to one parameter; where `linear`, what is not linear in it is
    refused."""

    parameter: str
    linear: bool
    book: Notebook

    def of(self, e: Expr, scope: Scope, c: Contribution) -> Arrivals:
        """What arrives at variables of the contribution c to the value of e."""
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
            case Unary() | Binary():
                return self._number(e, scope, c)
            case Let(p, a, body):
                frame = Named(p, a, scope)
                return self._bound(self.of(body, frame, c), frame, a, scope)
            case Map(f, xs):
                return self._map(e, f, xs, scope, c)
            case Generate(int() as n, Lam(p, body)):
                c = self._inside(e, scope, c, 0)
                return self.of(body, Counted(p, n, c.coordinates[0], scope), _tail(c))
            case Reduce():
                return self._reduce(e, scope, c)
        return self._view(e, scope, c)

    # ---- maps and names

    def _map(self, e: Map, f: Lam, xs: Expr, scope: Scope, c: Contribution) -> Arrivals:
        alone = Counted(f.pattern, 1, constant(0), scope)
        if not is_view(f.body) or self.depends(f.body, alone):
            c = self._inside(e, scope, c, 0)
        frame = Element(f.pattern, xs, c.coordinates[0], scope)
        return self._bound(self.of(f.body, frame, _tail(c)), frame, xs, scope)

    def _bound(self, all_: Arrivals, frame: Frame, e: Expr, scope: Scope) -> Arrivals:
        """What arrives outside of a frame, whose variables are parts of e: what came to them goes
        on into e."""
        left = [a for a in all_ if a.frame is not frame]
        own = [a.what for a in all_ if a.frame is frame]
        if isinstance(frame, Element):
            own = [c.at(frame.index, *c.coordinates) for c in own]
        own = [self.book.settled(c) for c in own]
        named = isinstance(frame, Named) and len(own) > 1 and repeats(e)
        if own and (named or not is_view(e)):
            own = self._met(e, scope, own)
        return [*left, *(a for c in own for a in self.of(e, scope, c))]

    def _met(self, e: Expr, scope: Scope, all_: Sequence[Contribution]) -> list[Contribution]:
        """The contributions to e, one for each leaf: what was summed up on the way is made first,
        so that e hands it back once."""
        done = list[Contribution]()
        for path in dict.fromkeys(c.path for c in all_):
            own = _added([c for c in all_ if c.path == path])
            if (
                len(own) == 1
                and all(map(plain, own[0].coordinates))
                and not self._sums(own[0], e, scope)
            ):
                done += own
            else:
                done.append(self._made(e, scope, own))
        return done

    def _sums(self, c: Contribution, e: Expr, scope: Scope) -> bool:
        """True if a contribution to e sums over indices that are not those of its place."""
        placed = {*self._context(e, scope), *(i for a in c.coordinates for i, _ in a.terms)}
        return not placed.issuperset(c.indices)

    def _context(self, e: Expr, scope: Scope) -> tuple[Index, ...]:
        """The indices of the elements that e depends on, through the variables in scope."""
        names, own = free(e), list[Index]()
        while scope is not None:
            bound = {v.name for v in variables(scope.pattern)}
            if names & bound:
                names -= bound
                match scope:
                    case Element(_, xs, at, _):
                        names |= free(xs)
                        own += [i for i, _ in self.book.resolved(at).terms]
                    case Counted(_, _, at, _):
                        own += [i for i, _ in self.book.resolved(at).terms]
                    case Named(_, a, _):
                        names |= free(a)
            scope = scope.outside
        return tuple(dict.fromkeys(reversed(own)))

    # ---- arrays made on the way

    def _made(
        self,
        e: Expr,
        scope: Scope,
        all_: Sequence[Contribution],
        then: Callable[[Expr], Expr] | None = None,
        hint: str = "cotangents",
    ) -> Contribution:
        """The contribution that reads an array of what all these contributions to e add up to."""
        path = all_[0].path
        t = leaf_type(type_of(e), path)
        sizes = sizes_in(t)
        context = [i for i in self._context(e, scope) if any(i in c.indices for c in all_)]
        arrays = list[Expr]()
        for c in all_:
            own = [i for i in context if i in c.indices]
            at = tuple(map(index, context))
            missing = tuple(i for i in context if i not in own)
            c = replace(c, indices=(*c.indices, *missing), coordinates=(*at, *c.coordinates))
            whole = (*(i.size for i in context), *sizes)
            arrays.append(gathered(c, whole, scalar_in(t), self.book))
        total = reduce(sum_of, arrays)
        fresh = tuple(self.book.index(n) for n in sizes)
        own_indices = (*context, *fresh)
        base = self.book.named(hint, total)
        at = tuple(map(index, own_indices))
        return Contribution(own_indices, at[len(context) :], (self.book.read(base, at),), path)

    def _inside(self, e: Expr, scope: Scope, c: Contribution, d: int) -> Contribution:
        """The contribution to e without what lies outside of dimension d."""
        c = self.book.settled(c)
        size = sizes_in(leaf_type(type_of(e), c.path))[d]
        a = c.coordinates[d]
        if lies_inside(a, size):
            return c
        match a:
            case Affine(((i, 1),), k):
                first, last = max(0, -k), min(i.size, size - k)
                if first < last:
                    return self.book.put(
                        c, {i: index(self.book.index(last - first)).shifted(first)}
                    )
        return self._made(e, scope, [c])

    # ---- sums

    def _reduce(self, e: Reduce, scope: Scope, c: Contribution) -> Arrivals:
        assert isinstance(e.f.pattern, tuple)
        acc, p = e.f.pattern
        n = size_of(e.xs)
        assert isinstance(n, int)
        k, fold = self.book.index(n), fold_of(e.f)
        if fold is not None and fold.op in ("max", "min"):
            return self._chosen(e, fold, scope, c, k)
        if len(c.factors) > 1 and not self._sums(c, e, scope) and all(map(plain, c.coordinates)):
            c = self._made(e, scope, [c])
        frame = Element(p, e.xs, index(k), scope)
        running = Running(acc, frame)
        inner = replace(c, indices=(*c.indices, k))
        arrivals = self.of(e.f.body, running, inner)
        settled = self.book.settled
        kept = [settled(a.what) for a in arrivals if a.frame is running]
        if kept != [settled(inner)]:
            raise Refused(
                "expected a sum, a largest or a smallest element, found another reduction"
            )
        passed = [a for a in arrivals if a.frame is not running]
        return [*self.of(e.init, scope, c), *self._bound(passed, frame, e.xs, scope)]

    def _chosen(self, e: Reduce, fold: Fold, scope: Scope, c: Contribution, k: Index) -> Arrivals:
        """A largest or smallest element: those that are equal to it share what comes to it."""
        if self.linear:
            raise Refused(f"expected what is linear in {self.parameter}, found {fold.op} of it")
        assert isinstance(e.f.pattern, tuple)
        p, t = e.f.pattern[1], type_of(e)
        best, count, total = (
            Var(fresh(word, self.book.taken), t) for word in ("best", "count", "total")
        )
        is_best = is_equal(fold.op, best)
        tally = Binary("+", total, is_best(fold.term))
        counted = Reduce(is_best(e.init), Lam((total, p), tally), e.xs)
        named = Named(count, counted, Named(best, e, scope))
        frame = Element(p, e.xs, index(k), named)
        c = self._times(c, Binary("/", number(1, scalar_in(t)), count), named)
        inner = self._times(replace(c, indices=(*c.indices, k)), is_best(fold.term), frame)
        inside = self._bound(self.of(fold.term, frame, inner), frame, e.xs, scope)
        if not self.depends(e.init, scope):
            return inside
        return [*self.of(e.init, scope, self._times(c, is_best(e.init), named)), *inside]

    # ---- views

    def _view(self, e: Expr, scope: Scope, c: Contribution) -> Arrivals:
        match e:
            case Split(int() as m, xs):
                c = self._inside(e, scope, c, 1)
                i, j, *rest = c.coordinates
                return self.of(xs, scope, c.at(i.times(m).plus(j), *rest))
            case Slide(_, int() as step, xs, _):
                c = self._inside(e, scope, self._inside(e, scope, c, 0), 1)
                i, j, *rest = c.coordinates
                return self.of(xs, scope, c.at(i.times(step).plus(j), *rest))
            case Transpose(xs):
                i, j, *rest = c.coordinates
                return self.of(xs, scope, c.at(j, i, *rest))
            case Join(xs):
                return self._join(e, xs, scope, c)
            case At(int() as k, xs):
                return self.of(xs, scope, c.at(constant(k), *c.coordinates))
            case Concat(a, b):
                n = size_of(a)
                assert isinstance(n, int)
                i, *rest = c.coordinates
                return [*self.of(a, scope, c), *self.of(b, scope, c.at(i.shifted(-n), *rest))]
            case Pad(int() as l, _, v, xs):
                if self.depends(v, scope):
                    raise Refused(
                        "expected padding by a constant, found it depends on the parameter"
                    )
                return self._shifted(xs, scope, c, l)
            case PadEdge(Edge.ANY, int() as l, _, xs):
                return self._shifted(xs, scope, c, l)
            case PadEdge():
                return self._by_runs(e, scope, c)
            case Reorder():
                return self._reorder(e, scope, c)
            case MakeArray():
                return self._array(e, scope, c)
        raise Refused(f"expected an operation that has a derivative, found {type(e).__name__}")

    def _shifted(self, xs: Expr, scope: Scope, c: Contribution, l: int) -> Arrivals:
        i, *rest = c.coordinates
        return self.of(xs, scope, c.at(i.shifted(-l), *rest))

    def _join(self, e: Join, xs: Expr, scope: Scope, c: Contribution) -> Arrivals:
        n = sizes_in(leaf_type(elem_of(xs), c.path))[0]
        c = self._inside(e, scope, c, 0)
        try:
            parts = self.book.divided(c.coordinates[0], n)
        except NoAccess:
            c = self._made(e, scope, [c])
            parts = self.book.divided(c.coordinates[0], n)
        c = self.book.settled(c)
        return self.of(xs, scope, c.at(*parts, *c.coordinates[1:]))

    def _plainly(self, e: Expr, scope: Scope, c: Contribution) -> tuple[Contribution, Index]:
        """The contribution to e with an index alone as its first coordinate, and that index."""
        c = self._inside(e, scope, c, 0)
        i, size = plain(c.coordinates[0]), size_of(e)
        if i is None or i.size != size or any(i in dict(a.terms) for a in c.coordinates[1:]):
            c = self._made(e, scope, [c])
            i = plain(c.coordinates[0])
        assert i is not None
        return c, i

    def _reorder(self, e: Reorder, scope: Scope, c: Contribution) -> Arrivals:
        s = stride_of(e)
        if s is None:
            return self._by_runs(e, scope, c)
        n = size_of(e)
        assert isinstance(n, int)
        c, i = self._plainly(e, scope, c)
        self.book.halve(i, n // s)
        c = self.book.settled(c)
        (high, _), (low, _) = c.coordinates[0].terms
        return self.of(
            e.xs, scope, c.at(index(high).plus(index(low).times(s)), *_tail(c).coordinates)
        )

    def _by_runs(self, e: Reorder | PadEdge, scope: Scope, c: Contribution) -> Arrivals:
        c, i = self._plainly(e, scope, c)
        own = [self._run(c, i, run) for run in runs_of(e)]
        if repeats(e.xs):
            own = self._met(e.xs, scope, own)
        return [a for part in own for a in self.of(e.xs, scope, part)]

    def _run(self, c: Contribution, i: Index, run: Run) -> Contribution:
        """The part of a contribution that one run of elements gets."""
        place = index(self.book.index(run.size)) if run.size > 1 else constant(0)
        c = self.book.put(c, {i: place.shifted(run.first)})
        return c.at(place.times(run.step).shifted(run.source), *_tail(c).coordinates)

    def _array(self, e: MakeArray, scope: Scope, c: Contribution) -> Arrivals:
        c, i = self._plainly(e, scope, c)
        each = (self.book.put(c, {i: constant(k)}) for k in range(len(e.parts)))
        parts = zip(e.parts, each, strict=True)
        return [a for part, own in parts for a in self.of(part, scope, _tail(own))]

    # ---- numbers

    def _number(self, e: Unary | Binary, scope: Scope, c: Contribution) -> Arrivals:
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

    def _factors(self, e: Unary | Binary, scope: Scope) -> list[tuple[Expr, Expr | None]]:
        """The operands of an operation, each with the factor by which its cotangent is multiplied;
        None for 1."""
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
        raise Refused(f"expected an operation that has a derivative, found {e.op}")

    def _expect_linear(self, e: Unary | Binary, scope: Scope) -> None:
        match e:
            case Unary(op, _):
                good = is_linear(e)
            case Binary("+" | "-" as op, _, _):
                good = True
            case Binary("*" as op, a, b):
                good = not (self.depends(a, scope) and self.depends(b, scope))
            case Binary("/" as op, _, b):
                good = not self.depends(b, scope)
            case Binary(op, _, _):
                good = False
        if not good:
            raise Refused(f"expected what is linear in {self.parameter}, found {op} of it")


def repeats(e: Expr) -> bool:
    """True if e repeats elements of an array at its edges, or reorders them."""
    return any(isinstance(s, PadEdge | Reorder) for s in subterms(e))


def _tail(c: Contribution) -> Contribution:
    return c.at(*c.coordinates[1:])


def sum_of(a: Expr, b: Expr) -> Expr:
    """The element by element sum of two arrays, or of two numbers."""
    if not sizes_in(type_of(a)):
        return Binary("+", a, b)
    xs = Zip((a, b))
    f = lam2(("a", "b"), (elem_of(a), elem_of(b)), sum_of)
    return Map(f, xs)


def _added(all_: Sequence[Contribution]) -> list[Contribution]:
    """Contributions at the same places as one, whose factor is the sum of theirs."""
    places: dict[object, list[Contribution]] = {}
    for c in all_:
        places.setdefault((frozenset(c.indices), c.coordinates), []).append(c)
    return [_one(own) for own in places.values()]


def _one(all_: list[Contribution]) -> Contribution:
    if len(all_) == 1:
        return all_[0]
    products = [reduce(lambda a, b: Binary("*", a, b), c.factors) for c in all_]
    return replace(all_[0], factors=(reduce(lambda a, b: Binary("+", a, b), products),))
