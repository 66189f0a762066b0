"""Derivations as text: the laws, where each is used, and the term that then stands there, under the
stages' names."""

# key: e term

from collections.abc import Iterator
from itertools import groupby

from ir.core.nodes import Edge, Expr, Lam, Level, MapPar, Var
from ir.core.size import show_size
from ir.core.terms import children, rebuild
from ir.core.type_rules import type_of
from ir.text.show import show
from rewrites.engine.derivation import Derivation
from rewrites.engine.rule import Argument, Place, Step

WIDTH = 96
NEAR = 4  # how many of the terms around a place are named


def proof(d: Derivation, steps: range | None = None) -> Iterator[str]:
    """The lines of a derivation's proof: its first term, then for each step its stage, number, law,
    place and new term.

    `steps` selects some of the steps; None means all.
    """
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
    """The path from the root of e to a place, as the heads of the terms around it: map > map x 3 >
    reduce."""
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
    """The name of a node as the language writes it."""
    if isinstance(e, MapPar):
        return f"{e.level.value}({e.dim})"
    name = type(e).__name__
    return {"PadEdge": "pad", "MakeTuple": "tuple"}.get(name, name[0].lower() + name[1:])


def brief(e: Expr, width: int = WIDTH) -> str:
    """The term as one line of at most `width` characters, with … for what does not fit."""
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
    """The text of a term joined to one line, with a ; after each let."""
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
    """The term e with … for every subterm deeper than `depth` nodes; functions are not counted as
    nodes."""
    if isinstance(e, Var) or not children(e):
        return e
    if depth == 0 and not isinstance(e, Lam):
        return Var("…", type_of(e))
    deeper = depth if isinstance(e, Lam) else depth - 1
    return rebuild(e, tuple(shortened(c, deeper) for c in children(e)))
