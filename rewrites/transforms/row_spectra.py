"""Strategies from sums over windows to products of spectra, with the transforms outside of all
loops."""

# key: e term, s strategy

from collections.abc import Iterator

from ir.core.nodes import Expr, Lam, Let, Map, Reduce, Split, Var
from ir.core.terms import children, free, once
from ir.core.views import is_view
from rewrites.analysis.affine_access import NoAccess
from rewrites.analysis.alpha_equality import bound
from rewrites.engine.places import of_rest
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import around, attempt, choice, exhaust, outermost, seq, skip, when
from rewrites.fast_algorithms.by_rows import by_rows
from rewrites.fast_algorithms.by_spectra import correlate, linear_sum
from rewrites.fast_algorithms.dft_terms import planes_of
from rewrites.fast_algorithms.fourier import FORWARD, REAL, source
from rewrites.fast_algorithms.sums_of_spectra import combines
from rewrites.kernels.register_block import on_reduction
from rewrites.laws.hoisting import before_view, hoist, let_made
from rewrites.laws.maps import fission, inline_view
from rewrites.laws.reductions import release_init
from rewrites.nest.blocks_of_results import place_of_reduction
from rewrites.nest.named_nest import arranged
from rewrites.nest.rows_in_windows import rows_of
from rewrites.nest.spine import body, inside
from rewrites.nest.sums_of_products import products


def rows(e: Expr) -> Rewritten | None:
    """The nest e with the map over windows innermost, and its sums made row by row; Refused without
    such windows."""
    try:
        p = products(e)
        w = p.maps.index(rows_of(p).window)
    except NoAccess as why:
        raise Refused(str(why)) from None
    maps = arranged(others=[n for n in range(len(p.maps)) if n != w], windows=[w])
    return maps.at("windows", attempt(_apart)).then(inside(choice(by_rows(), _refuse)))(e)


def _refuse(e: Expr) -> Rewritten | None:
    raise Refused(f"expected sums of rows that windows slide along, found {shown(e)}")


def _apart(e: Expr) -> Rewritten | None:
    """The map e of f . reduce as a map of f over a map of sums from 0; None for other terms."""
    if not isinstance(e, Map):
        return None
    released = attempt(body(on_reduction(attempt(release_init()))))
    done = released(e)
    assert done is not None
    place = place_of_reduction(done[0].f.body) if isinstance(done[0], Map) else None
    if not place:
        return done
    return seq(released, fission(place=place))(e)


def is_made(e: Expr) -> bool:
    """True if e is the spectrum of a row that is a view, or an array (of any depth) of such
    spectra."""
    match e:
        case Map(Lam(Var(), body), xs) if is_view(xs):
            return is_made(body)
        case Split():
            return combines(e)
        case Let(_, z, Split()):
            return bool(source(z, REAL) or source(z, FORWARD))
    return False


def hoisted(e: Expr) -> Rewritten | None:
    """The term e with its spectra made outside of all loops."""
    seen = when(lambda e: planes_of(e) is not None, inline_view())
    return exhaust(choice(_hoist_one, seen))(e)


def _hoist_one(e: Expr) -> Rewritten | None:
    if not isinstance(e, Map | Reduce) or is_made(e):
        return None
    names, body = bound(e.f), e.f.body
    own = (term for term in _made_in(body) if term != body and free(term) & names)
    return choice(*(hoist(term=term) for term in own))(e)


@once
def _made_in(e: Expr) -> tuple[Expr, ...]:
    """The spectra of rows, and arrays of these, that are e or stand in it, outermost first."""
    inner = tuple(term for child in children(e) for term in _made_in(child))
    return (e, *inner) if is_made(e) else inner


def levels(e: Expr) -> int:
    """The number of maps in e around the spectrum of a row."""
    return 1 + levels(e.f.body) if isinstance(e, Map) else 0


def transformed(e: Expr) -> Rewritten | None:
    """The let e of rows, of which only spectra are used, as a let of these spectra; and so are lets
    of rows in its body. None if e is no let."""
    match e:
        case Let(Var(x, _), _, _):
            inner = of_rest(seq(attempt(transformed), attempt(_before(x))))
            return seq(inner, attempt(_let(x)))(e)
    return None


def spectra(sums: Strategy | None) -> Strategy:
    """The strategy that turns sums of rows, slid along each other, into sums of products of their
    spectra, and makes the spectra before these sums.

    `sums` is a law that turns sums of products of complex numbers into sums of real products, in
    the form of a matrix product; None leaves them complex.
    """
    made = seq(hoisted, outermost(transformed))
    return seq(
        outermost(correlate()),
        exhaust(linear_sum()),
        made,
        seq(outermost(sums), made) if sums else skip,
    )


def _before(x: str) -> Strategy:
    def run(e: Expr) -> Rewritten | None:
        if isinstance(e, Map) and is_made(e) and free(e) == {x}:
            return before_view(levels=levels(e))(e)
        return None

    return _where_seen(x, run)


def _where_seen(x: str, s: Strategy) -> Strategy:
    """The strategy that applies s at the first place where it succeeds, outermost first, but not
    inside a function or let that binds the name x again."""

    def run(e: Expr) -> Rewritten | None:
        done = s(e)
        if done is not None:
            return done
        for i, part in _seeing(e, x):
            if (done := run(part)) is not None:
                return around(e, (i,), done)
        return None

    return run


def _seeing(e: Expr, x: str) -> list[tuple[int, Expr]]:
    """The children of e in which x is not bound again, with their numbers."""
    parts = list(enumerate(children(e)))
    if isinstance(e, Let) and x in bound(e):
        return parts[:1]
    return [] if isinstance(e, Lam) and x in bound(e) else parts


def _terms_seeing(e: Expr, x: str) -> Iterator[Expr]:
    yield e
    for _, part in _seeing(e, x):
        yield from _terms_seeing(part, x)


def _let(x: str) -> Strategy:
    def run(e: Expr) -> Rewritten | None:
        assert isinstance(e, Let)
        for term in _terms_seeing(e.body, x):
            if is_made(term) and free(term) == {x}:
                return let_made(term=term)(e)
        return None

    return run
