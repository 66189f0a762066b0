"""Strategies: how rules compose. A strategy gives a new term and the steps to it, or None."""

# key: s strategy, e term

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, cast

from ir.core.nodes import Expr, Lam, Store
from ir.core.terms import children, once, rebuild
from rewrites.engine.rule import Place, Rewritten, Step, Strategy, Use

P = ParamSpec("P")


def remembered(make: Callable[P, Strategy]) -> Callable[P, Strategy]:
    """A strategy that is made of equal arguments again is the same one, and knows what it made of
    each term: the forms of a family begin alike."""
    kept = lru_cache(maxsize=256)(lambda *given, **named: once(make(*given, **named)))
    return cast(Callable[P, Strategy], kept)


def skip(e: Expr) -> Rewritten:
    """Succeeds and changes nothing."""
    return e, ()


def seq(*strategies: Strategy) -> Strategy:
    """One after another; fails if one fails."""

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
    """The first that succeeds; rules that do not look at such a node are not asked."""
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
    """s, or nothing."""
    return choice(s, skip)


def repeat(s: Strategy, limit: int = 10_000) -> Strategy:
    """s as often as it succeeds and changes something."""

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
    """s where the test holds; fails elsewhere."""
    return lambda e: s(e) if test(e) else None


def child(i: int, s: Strategy) -> Strategy:
    """s at the i-th child."""

    def run(e: Expr) -> Rewritten | None:
        inside = children(e)
        done = s(inside[i]) if i < len(inside) else None
        return None if done is None else within(e, i, done)

    return run


def within(e: Expr, i: int, done: Rewritten) -> Rewritten:
    """The rewriting of e that `done`, a rewriting of its i-th child, amounts to."""
    old, (new, steps) = children(e), done
    if new is not old[i]:
        e = rebuild(e, (*old[:i], new, *old[i + 1 :]))
    return e, tuple([step.under(i) for step in steps])


def at(place: tuple[int, ...], s: Strategy) -> Strategy:
    """s at a place."""
    for i in reversed(place):
        s = child(i, s)
    return s


def outermost(s: Strategy) -> Strategy:
    """s at the first place where it succeeds, outermost and leftmost first."""

    def run(e: Expr) -> Rewritten | None:
        done = s(e)
        if done is not None:
            return done
        for i, inside in enumerate(children(e)):
            if (done := run(inside)) is not None:
                return within(e, i, done)
        return None

    return run


def exhaust(s: Strategy) -> Strategy:
    """repeat(outermost(s)), but a term in which s succeeds nowhere is not searched again."""

    def first(e: Expr) -> Rewritten | None:
        if _is_barren(e, s):
            return None
        done = s(e)
        if done is not None:
            return done
        for i, inside in enumerate(children(e)):
            if (done := first(inside)) is not None:
                return within(e, i, done)
        e._barren.add(s)
        return None

    return once(repeat(first))


def _is_barren(e: Expr, s: Strategy) -> bool:
    """True if s is known to succeed nowhere in e; terms are shared from step to step."""
    try:
        return s in e._barren
    except AttributeError:
        object.__setattr__(e, "_barren", set())
        return False


def everywhere(s: Strategy) -> Strategy:
    """s wherever it succeeds, inside out, once a place."""

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
    """s in the body of a function."""
    return lambda e: child(0, s)(e) if isinstance(e, Lam) else None


def place_where(e: Expr, test: Callable[[Expr], bool]) -> Place | None:
    """The place of the outermost subterm that passes a test; stored terms are another kernel's."""
    if not isinstance(e, Lam) and test(e):
        return ()
    if isinstance(e, Store):
        return None
    for i, c in enumerate(children(e)):
        found = place_where(c, test)
        if found is not None:
            return (i, *found)
    return None
