"""Derivations as text: the law, the place it was used at, and what stands there now, under the
names of the stages that it is a part of."""

# key: e term

from collections.abc import Iterator
from itertools import groupby

from ir.core.nodes import Edge, Expr, Lam, Level, MapPar, Var
from ir.core.size import show_size
from ir.core.terms import children, rebuild
from ir.core.type_rules import type_of
from ir.text.show import show
from rewrites.engine.rule import Argument, Derivation, Place, Step

WIDTH = 96
NEAR = 4  # how many of the terms around a place are named


def proof(d: Derivation, steps: range | None = None) -> Iterator[str]:
    """The lines of a proof: its first term, then for each step (or some) the stages that begin with
    it, its number, law, place and new term."""
    terms, chosen = list(d.terms()), range(len(d.steps)) if steps is None else steps
    yield f"     {brief(terms[chosen.start])}"
    ends: list[int] = []
    for i in chosen:
        step = d.steps[i]
        ends = [end for end in ends if end > i]
        for begun in step.stages:
            ends.append(i + begun.steps)
            yield f"\n{'#' * len(ends)} {begun.name}"
        yield ""
        yield f"{i + 1:3}. {step.rule.law}{_given(step)}"
        yield f"     {where(terms[i], step.place)}"
        yield f"     {brief(step.term)}"


def _given(step: Step) -> str:
    given = ", ".join(f"{name} = {show_argument(a)}" for name, a in step.arguments)
    return f"   [{given}]" if given else ""


def show_argument(a: Argument) -> str:
    """An argument of a rule as text."""
    match a:
        case Expr():
            return brief(a)
        case Level() | Edge():
            return str(a.value)
        case str() | bool() | tuple():
            return str(a)
    return show_size(a)


def where(e: Expr, place: Place) -> str:
    """The terms around a place, the nearest last: in … map > map x 3 > reduce"""
    heads: list[str] = []
    for i in place:
        if not isinstance(e, Lam):
            heads.append(head(e))
        e = children(e)[i]
    runs = [(name, len(list(same))) for name, same in groupby(heads)]
    words = [name if n == 1 else f"{name} x {n}" for name, n in runs]
    path = " > ".join(["…"] * (len(words) > NEAR) + words[-NEAR:])
    return f"in {path}" if words else "the whole"


def head(e: Expr) -> str:
    """A node's name as it is written."""
    if isinstance(e, MapPar):
        return f"{e.level.value}({e.dim})"
    name = type(e).__name__
    return {"PadEdge": "pad", "MakeTuple": "tuple"}.get(name, name[0].lower() + name[1:])


def brief(e: Expr, width: int = WIDTH) -> str:
    """e on one line, with … for what does not fit."""
    best = "…"
    for depth in range(1, 40):
        text = one_line(show(shortened(e, depth)))
        if len(text) > width:
            break
        best = text
        if "…" not in text:
            break
    return best


def one_line(text: str) -> str:
    """Text on one line, with ; after each let."""
    words: list[str] = []
    lets: list[int] = []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        while lets and indent <= lets[-1]:
            lets.pop()
            words[-1] += ";"
        if line.lstrip().startswith("let"):
            lets.append(indent)
        words.append(line.strip())
    return " ".join(words)


def shortened(e: Expr, depth: int) -> Expr:
    """e with … for what lies deeper; functions do not count."""
    if isinstance(e, Var) or not children(e):
        return e
    if depth == 0 and not isinstance(e, Lam):
        return Var("…", type_of(e))
    deeper = depth if isinstance(e, Lam) else depth - 1
    return rebuild(e, tuple(shortened(c, deeper) for c in children(e)))
