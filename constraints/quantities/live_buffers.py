"""The local and private buffers of a kernel that are live at the same time.

A value stored in local memory is live from where it is made to where it is last read, and through
each loop that reads it. One in private memory is live to the end of the `let` (or function) that
reads it. A result that goes to an output, an accumulator or another buffer needs no buffer of its
own.
"""

# key: e term, b buffer, p pattern

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from constraints.quantities.held_buffers import (
    NOTHING,
    Buffer,
    Live,
    Place,
    Scope,
    Space,
    Use,
    after,
    during,
    maximal,
    without_unread,
)
from constraints.quantities.origin import brief
from constraints.quantities.value_bytes import bytes_of, share
from ir.arena import LOCAL_ALIGNMENT, rounded
from ir.core.instruction import Instruct
from ir.core.loaded_ahead import loaded_ahead
from ir.core.nodes import (
    AsScalar,
    AsVector,
    Expr,
    Generate,
    Join,
    Lam,
    Let,
    Level,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    Pattern,
    Reduce,
    ReduceSeq,
    Reorder,
    Split,
    ToLocal,
    ToPrivate,
    Transpose,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import children
from ir.core.type_rules import size_of, type_of
from ir.core.views import is_layout
from ir.meaning.inputs import parts_of, scalar_of

Counts = Mapping[int, Size]


def live_sets(kernel: Expr, counts: Counts) -> frozenset[Live]:
    """The largest sets of buffers that are live together while a kernel runs.

    `counts` has the number of work-items of a group along each dimension, if that is a single
    size.
    """
    return _Walk(counts).use(without_unread(kernel), Scope({}, Place.MEMORY, 1)).peaks


@dataclass(slots=True)
class _Walk:
    """A walk through a kernel's term that finds the buffers which live together; it keeps the
    buffers `made` and the tiles that are loaded `ahead`."""

    counts: Counts
    made: list[Buffer] = field(default_factory=list)
    ahead: list[ToLocal] = field(default_factory=list)  # what loops load ahead, in parts

    def private(self, size: Size, e: Expr) -> Live:
        """The set of one new private buffer, of `size` bytes, that holds the value of e."""
        return frozenset({self.added(Buffer(len(self.made), Space.PRIVATE, size, brief(e)))})

    def local(self, e: ToLocal, items: Size, ahead: int) -> Live:
        """The buffers of a local tile, with a copy for each of `items` work-items: one buffer for
        each array of a tuple, and again for each iteration that it is loaded `ahead`; arrays of one
        scalar type may share storage."""
        copies = items * (1 + ahead)
        return frozenset(
            self.added(
                Buffer(
                    number=len(self.made),
                    space=Space.LOCAL,
                    bytes=rounded(bytes_of(part) * copies, LOCAL_ALIGNMENT),
                    origin=brief(e),
                    pool=scalar_of(part).name,
                    alone=ahead > 0,
                )
            )
            for _, part in parts_of(type_of(e))
        )

    def added(self, b: Buffer) -> Buffer:
        self.made.append(b)
        return b

    def use(self, e: Expr, here: Scope) -> Use:
        """The use of buffers by the term e in the surroundings `here`."""
        match e:
            case Var(name, _):
                held = here.env.get(name, NOTHING)
                return Use(held, frozenset({held}))
            case Let(p, value, body):
                return self.let(p, value, body, here)
            case ToLocal(a):
                ahead = e.ahead if any(e is tile for tile in self.ahead) else 0
                return self.real(self.local(e, here.items, ahead), a, here.toward(Place.MEMORY))
            case ToPrivate(a) if here.to is Place.PRIVATE:
                return self.use(a, here)
            case ToPrivate(a):
                return self.real(self.private(share(a), e), a, here.toward(Place.PRIVATE))
            case Instruct(_, parts) if e.together and here.to is Place.NONE:
                own = self.private(share(e), e)
                return Use(own, during(own, self.each(parts, here)))
            case MapSeq() | MapPar():
                return self.loop(e, here)
            case ReduceSeq(init, f, xs, _) | Reduce(init, f, xs):
                return self.fold(e, init, f, xs, here)
            case Map(f, xs):
                return self.delayed(f, xs, here)
            case Generate(_, f):
                element = self.use(f.body, here.toward(Place.NONE))
                return Use(element.hold, during(here.reads(f), element))
        inner = here if isinstance(e, INVERTIBLE) else here.toward(Place.NONE)
        return self.each(children(e), inner)

    def each(self, terms: Sequence[Expr], here: Scope) -> Use:
        """The use of buffers by terms that are made one after the other."""
        steps = ((self.use(a, here), here.reads(*terms[n:])) for n, a in enumerate(terms, 1))
        return after(*steps)

    def let(self, p: Pattern, value: Expr, body: Expr, here: Scope) -> Use:
        """The use of buffers by a let: its value, then its body."""
        first = self.given(value, here)
        later = here.reads(Lam(p, body))
        inner = self.use(body, here.bound(p, first.hold))
        kept = frozenset(b for b in first.hold if b.space is Space.PRIVATE)
        return Use(inner.hold, maximal([*during(later, first), *during(kept, inner)]))

    def given(self, value: Expr, here: Scope) -> Use:
        """The use of buffers by a let's value; a map or a list in it is computed into private
        memory."""
        if isinstance(value, Map | MakeArray) and not is_layout(value):
            return self.real(self.private(share(value), value), value, here.toward(Place.PRIVATE))
        return self.use(value, here.toward(Place.NONE))

    def real(self, own: Live, a: Expr, here: Scope) -> Use:
        """The use of buffers by a term whose value is stored in the buffers `own`. a is what is
        stored; the buffers are live already while it is made."""
        return Use(own, during(own, self.use(a, here)))

    def loop(self, e: MapSeq | MapPar, here: Scope) -> Use:
        """The use of buffers by a map that is a loop, sequential or over work-items."""
        own = self.private(share(e), e) if here.to is Place.NONE else NOTHING
        xs = self.use(e.xs, here.toward(Place.NONE))
        inside = here.bound(e.f.pattern, xs.hold)
        if here.to is Place.NONE:
            inside = inside.toward(Place.PRIVATE)
        if isinstance(e, MapPar) and e.level is Level.LOCAL:
            inside = replace(inside, items=here.items * self.counts.get(e.dim, size_of(e.xs)))
        body = self.use(e.f.body, inside)
        read = here.reads(e.f)
        peaks = [*during(own | read, xs), *during(own | xs.hold | read, body)]
        return Use(own, maximal(peaks))

    def fold(self, e: Expr, init: Expr, f: Lam, xs: Expr, here: Scope) -> Use:
        """The use of buffers by the reduction e: its initial value, then its steps."""
        own = NOTHING if here.to is Place.PRIVATE else self.private(share(f.body), e)
        start = self.use(init, here.toward(Place.PRIVATE))
        over = self.use(xs, here.toward(Place.NONE))
        ahead = [tile for _, tile in loaded_ahead(f)[0]]
        waiting = [tile for tile in ahead if not tile.in_flight]
        self.ahead += ahead
        inside = here.toward(Place.PRIVATE)
        if isinstance(f.pattern, tuple):
            inside = inside.bound(f.pattern[0], own).bound(f.pattern[1], over.hold)
        body = self.use(f.body, inside)
        held = own.union(here.reads(f), *map(self.staged, waiting))
        peaks = [
            *during(own | here.reads(xs, f), start),
            *during(own | here.reads(f), over),
            *during(held | over.hold, body),
        ]
        return Use(own, maximal(peaks))

    def staged(self, tile: ToLocal) -> Live:
        """The private buffer that holds what a tile loads ahead until its half of the local buffer
        is free."""
        return self.private(share(tile.e), tile)

    def delayed(self, f: Lam, xs: Expr, here: Scope) -> Use:
        """The use of buffers by a map that has no loop of its own: it is computed where it is read,
        or where its result goes."""
        over = self.use(xs, here if is_chain(f.body) else here.toward(Place.NONE))
        body = self.use(f.body, here.bound(f.pattern, over.hold))
        return after((over, here.reads(f)), (body, NOTHING))


INVERTIBLE = (Join, Split, Transpose, Reorder, AsScalar, AsVector, Pad, PadEdge, MakeTuple, Zip)


def is_chain(e: Expr) -> bool:
    """True if e is a chain of views of one variable."""
    if isinstance(e, Map):
        return is_chain(e.f.body) and is_chain(e.xs)
    return isinstance(e, Var) or (isinstance(e, INVERTIBLE) and is_chain(children(e)[-1]))
