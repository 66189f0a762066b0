"""Strategies and how they compose: a strategy maps a term to a new term with the steps to it, or to
None where it fails."""

# key: s strategy, e term

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, cast

from ir.core.nodes import Expr, Lam, Store
from ir.core.terms import children, once
from rewrites.engine.rule import Place, Rewritten, Step, Strategy, Use, put

P = ParamSpec("P")


def remembered(make: Callable[P, Strategy]) -> Callable[P, Strategy]:
    """A decorator of a function `make` that makes strategies: it makes one strategy for equal
    arguments, which remembers its result for each term."""
    kept = lru_cache(maxsize=256)(lambda *given, **named: once(make(*given, **named)))
    return cast(Callable[P, Strategy], kept)


def skip(e: Expr) -> Rewritten:
    """The strategy that succeeds and changes nothing."""
    return e, ()


def seq(*strategies: Strategy) -> Strategy:
    """The strategy that applies `strategies` one after another, and fails if one of them fails."""

    def run(e: Expr) -> Rewritten | None:
        steps: tuple[Step, ...] = ()
        for s in strategies:
            done = s(e)
            if done is None:
                return None
            e, more = done
            steps += more
        return e, steps

    return run


def choice(*strategies: Strategy) -> Strategy:
    """The strategy that applies the first of `strategies` that succeeds, and fails if all fail. A
    rule is not tried at nodes of types other than its own (`looks_at`)."""
    known: dict[type[Expr], list[Strategy]] = {}

    def run(e: Expr) -> Rewritten | None:
        node = type(e)
        if node not in known:
            known[node] = [s for s in strategies if _looks_at(s, node)]
        for s in known[node]:
            done = s(e)
            if done is not None:
                return done
        return None

    return run


def _looks_at(s: Strategy, node: type[Expr]) -> bool:
    return not isinstance(s, Use) or issubclass(node, s.rule.looks_at)


def attempt(s: Strategy) -> Strategy:
    """The strategy that applies s, or changes nothing where s fails."""
    return choice(s, skip)


def repeat(s: Strategy, limit: int = 10_000) -> Strategy:
    """The strategy that applies s again and again, until it fails or changes nothing, or `limit`
    times."""

    def run(e: Expr) -> Rewritten | None:
        steps: tuple[Step, ...] = ()
        for _ in range(limit):
            done = s(e)
            if done is None or not done[1]:
                break
            e, more = done
            steps += more
        return e, steps

    return run


def when(test: Callable[[Expr], bool], s: Strategy) -> Strategy:
    """The strategy that applies s to terms that pass the test, and fails on others."""
    return lambda e: s(e) if test(e) else None


def child(i: int, s: Strategy) -> Strategy:
    """The strategy that applies s to the i-th child of a term, and fails where there is none."""
    return at((i,), s)


def at(place: Place, s: Strategy) -> Strategy:
    """The strategy that applies s to the part of a term at a place, and fails where there is
    none."""

    def run(e: Expr) -> Rewritten | None:
        inner = e
        for i in place:
            inside = children(inner)
            if i >= len(inside):
                return None
            inner = inside[i]
        done = s(inner)
        return None if done is None else around(e, place, done)

    return run


def around(e: Expr, place: Place, done: Rewritten) -> Rewritten:
    """The rewriting of e that follows from `done`, a rewriting of its part at a place."""
    new, steps = done
    return put(e, place, new), tuple([step.under(place) for step in steps])


def outermost(s: Strategy) -> Strategy:
    """The strategy that applies s once, at the first place where it succeeds: outermost first, then
    leftmost."""

    def run(e: Expr) -> Rewritten | None:
        done = s(e)
        if done is not None:
            return done
        for i, inside in enumerate(children(e)):
            if (done := run(inside)) is not None:
                return around(e, (i,), done)
        return None

    return run


def exhaust(s: Strategy) -> Strategy:
    """The strategy that applies s at the outermost place again and again, until it succeeds
    nowhere.

    Terms in which s is known to succeed nowhere are not searched again.
    """

    def first(e: Expr) -> Rewritten | None:
        if _is_barren(e, s):
            return None
        done = s(e)
        if done is not None:
            return done
        for i, inside in enumerate(children(e)):
            if (done := first(inside)) is not None:
                return around(e, (i,), done)
        e._barren.add(s)
        return None

    return once(repeat(first))


def _is_barren(e: Expr, s: Strategy) -> bool:
    """True if s is already known to succeed nowhere in e, e itself included; the node of e keeps
    what is known."""
    try:
        return s in e._barren
    except AttributeError:
        object.__setattr__(e, "_barren", set())
        return False


def everywhere(s: Strategy) -> Strategy:
    """The strategy that applies s once at every place where it succeeds, inner places first."""

    def run(e: Expr) -> Rewritten:
        steps: tuple[Step, ...] = ()
        for i in range(len(children(e))):
            done = child(i, run)(e)
            assert done is not None
            e, more = done
            steps += more
        done = s(e)
        return (e, steps) if done is None else (done[0], steps + done[1])

    return run


def in_function(s: Strategy) -> Strategy:
    """The strategy that applies s to the body of a function, and fails on other terms."""
    return lambda e: child(0, s)(e) if isinstance(e, Lam) else None


def place_where(e: Expr, test: Callable[[Expr], bool]) -> Place | None:
    """The place of the outermost subterm of e that passes a test, not looking below `store`; None
    if no subterm passes."""
    if not isinstance(e, Lam) and test(e):
        return ()
    if isinstance(e, Store):
        return None
    for i, c in enumerate(children(e)):
        found = place_where(c, test)
        if found is not None:
            return (i, *found)
    return None
