"""The count of bound variables in a derived term whose names tell a reader what they hold.

A name is telling if the program gives it to a variable of the same kind (number or array), if it is
the plural of such a name, or if it is a common word for what the variable holds. Names may be
joined (`x_w`) and numbered (`rows2`).
"""

# key: e term, p program

from collections.abc import Iterator

from ir.core.nodes import Expr, Lam, Let, Program, Var
from ir.core.terms import subterms, variables
from ir.core.types import Array, Type
from rewrites.analysis.binder_names import plural

WORDS = frozenset(
    [
        "column", "columns", "data", "datum", "element", "elements", "ends", "factor", "half",
        "halves", "index", "matrix", "maximum", "maximums", "minimum", "minimums", "number",
        "numbers", "one", "pairs", "part", "parts", "phase", "plane", "planes", "product",
        "products", "result", "results", "row", "rows", "spectra", "spectrum", "sum", "sums",
        "shared", "tap", "taps", "term", "tile", "turned", "window", "windows"
    ]
)  # fmt: skip


def bound_variables(e: Expr) -> Iterator[Var]:
    """The variables that the functions and lets of a term bind."""
    for inside in subterms(e):
        if isinstance(inside, Lam | Let):
            yield from variables(inside.pattern)


def telling(p: Program, e: Expr) -> tuple[int, int]:
    """The number of the variables bound in e, a term derived from the program p, that have telling
    names; and the number of those bound in all."""
    own = {(_stem(v.name), isinstance(v.type, Array)) for v in bound_variables(p.body)}
    given = {v.var.name for v in p.params}
    every = list(bound_variables(e))
    return sum(_tells(v, own, given) for v in every), len(every)


def _tells(v: Var, own: set[tuple[str, bool]], given: set[str]) -> bool:
    many = {plural(name) for name, _ in own} if isinstance(v.type, Array) else set[str]()
    words = _stem(v.name).split("_")
    if len(words) > 1:
        known = {name for name, _ in own} | {plural(name) for name, _ in own}
        return all(word in known | WORDS | given for word in words)
    return _fits(words[0], v.type, own) or words[0] in WORDS | given | many


def _fits(word: str, t: Type, own: set[tuple[str, bool]]) -> bool:
    accumulator = word == "acc" and any(name == "acc" for name, _ in own)
    return (word, isinstance(t, Array)) in own or accumulator


def _stem(name: str) -> str:
    return name.rstrip("0123456789").rstrip("_") or name
