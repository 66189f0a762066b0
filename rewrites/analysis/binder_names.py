"""Names for what laws bind: the names that the program's functions give, as far as there are any.

    a chunk of what `row -> …` goes over        rows
    a pair of which `(x, w) -> …` takes parts   x_w
    a row of such pairs                         xs_ws
    what `reduce 0 +` makes of numbers          sum

Where the program has no name, a word says what is bound: element, row, result.
"""

# key: e term, p pattern, t type

from collections.abc import Sequence

from ir.core.nodes import (
    AsScalar,
    AsVector,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Pattern,
    Reduce,
    Reorder,
    Slide,
    Split,
    Transpose,
    Var,
    Zip,
)
from ir.core.terms import children, variables
from ir.core.type_rules import array_of, elem_of, type_of
from ir.core.types import Array, Tuple, Type
from ir.core.views import is_view
from rewrites.analysis.folds import operator

MOST = 3  # names that are joined; of more only the first are
FOLDED = {"+": "sum", "*": "product", "max": "maximum", "min": "minimum"}


def name_of(p: Pattern) -> str:
    """One name for all that a pattern binds: x for x, x_w for (x, w)."""
    return joined([v.name for v in variables(p)])


def several(p: Pattern) -> str:
    """A name for an array of what a pattern binds: rows for row, xs_ws for (x, w)."""
    return joined([plural(_stem(v.name)) for v in variables(p)])


def parts_of(p: Pattern, count: int) -> list[str]:
    """A name for each of the `count` parts of what a pattern binds: x and w of (x, w), or of x_w.
    If there are not so many names, one name for all parts."""
    names = [name_of(q) for q in p] if isinstance(p, tuple) else _stem(p.name).split("_")
    return names if len(names) == count else [name_of(p)] * count


def step_patterns(f: Lam) -> tuple[Pattern, Pattern]:
    """The patterns of what a folding function takes: the accumulator's, and the element's."""
    match f.pattern:
        case (acc, x):
            return acc, x
        case Var(_, Tuple((t, u))):
            return Var("acc", t), Var("x", u)
    raise AssertionError(f"{name_of(f.pattern)} binds no accumulator and element")


def several_of(p: Pattern, many: Sequence[bool]) -> list[str]:
    """A name for each part of what a pattern binds: a plural for the parts whose entry in `many` is
    true, for arrays of them."""
    names = parts_of(p, len(many))
    return [plural(name) if more else name for name, more in zip(names, many, strict=True)]


def joined(names: Sequence[str]) -> str:
    """One name made of `names`, in order and each once, without their numbers: x_w for x and w."""
    return "_".join(list(dict.fromkeys(map(_stem, names)))[:MOST])


def element_of(xs: Expr) -> str:
    """A name for an element of the array xs: the singular of the array's name if that is a plural.
    Otherwise a word from the array's views or its type, such as window, row or element."""
    match xs:
        case Map(f, _):
            return value_of(f.body)
        case Split(_, ys):
            return value_of(ys)
        case Pad() | PadEdge() | Reorder() | AsVector() | AsScalar():
            return element_of(xs.xs)
        case Slide():
            return _by_type(elem_of(xs.xs), "window", "windows")
        case Transpose():
            return _by_type(array_of(Var("_", elem_of(xs))).elem, "column", "columns")
        case Var() | Get() if (one := singular(value_of(xs))) is not None:
            return one
    t = elem_of(xs)
    return _by_type(t.elem, "row", "rows") if isinstance(t, Array) else "element"


def value_of(e: Expr) -> str:
    """A name for what a term stands for: that of the variable that it looks at, or else a word for
    what it computes: sum, or sums for an array of them."""
    match e:
        case Let():
            return value_of(e.body)
        case Var(name, _):
            return _stem(name)
        case Get(i, Var(_, Tuple(parts)) as x):
            return parts_of(x, len(parts))[i]
        case Zip(parts) | MakeTuple(parts):
            return joined([value_of(part) for part in parts])
        case Map(f, _) | Generate(_, f):
            return plural(value_of(f.body))
        case Reduce(_, f, _) if (op := operator(f)) is not None:
            return _by_type(type_of(e), FOLDED[op], plural(FOLDED[op]))
    if is_view(e) and children(e):
        return value_of(children(e)[-1])
    return _by_type(type_of(e), "result", "results")


def plural(name: str) -> str:
    """The name of many: rows, biases, queries; a plural stays as it is."""
    *before, last = name.split("_")
    return "_".join([*before, _plural(last)])


def _plural(word: str) -> str:
    if word.endswith(("ss", "us", "as", "is", "ch", "sh")) or (len(word) > 1 and word[-1] in "xz"):
        return f"{word}es"
    if word.endswith("s") and len(word) > 1:
        return word
    if word.endswith("y") and len(word) > 1 and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def singular(name: str) -> str | None:
    """The name of one: row for rows; None where a name is no plural."""
    ones = [_singular(word) for word in name.split("_")]
    return "_".join(one for one in ones if one) if all(ones) else None


def _singular(word: str) -> str | None:
    ones = (f"{word[:-3]}y", word[:-2], word[:-1]) if _plural(word) == word else ()
    return next((one for one in ones if one and _plural(one) == word != one), None)


def _by_type(t: Type, one: str, many: str) -> str:
    return many if isinstance(t, Array) else one


def _stem(name: str) -> str:
    """A name without the number at its end, which tells it from another: x for x_2."""
    return name.rstrip("0123456789").rstrip("_") or name
