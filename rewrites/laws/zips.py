"""Laws of zips: parts that need not be zipped, and views that go inside."""

# key: f function, x y elements, k size

from collections.abc import Sequence

from ir.core.nodes import Expr, Get, Lam, Map, Split, Zip
from ir.core.terms import lam, variables
from ir.core.type_rules import elem_of
from rewrites.analysis.alpha_equality import uses
from rewrites.analysis.kernel_terms import has_reduction
from rewrites.engine.rule import rule
from rewrites.laws.maps import tidy


@rule("map ((x, y) -> f x) . zip xs ys  =  map f xs")
def unused_part(e: Map) -> Expr | None:
    """A part of a zip that the map's function does not use is left out, and need not be made."""
    match e:
        case Map(f, Zip(parts)):
            f = tidy(f)
            if not isinstance(f.pattern, tuple):
                return None
            read = [any(uses(f.body, v.name) for v in variables(p)) for p in f.pattern]
            if not any(read):
                read[_simplest(parts)] = True
            left = [
                pair for pair, r in zip(zip(f.pattern, parts, strict=True), read, strict=True) if r
            ]
            if len(left) == len(parts):
                return None
            if len(left) == 1:
                return Map(Lam(left[0][0], f.body), left[0][1])
            patterns, arrays = zip(*left, strict=True)
            return Map(Lam(tuple(patterns), f.body), Zip(tuple(arrays)))
    return None


def _simplest(parts: Sequence[Expr]) -> int:
    """The index of the first of `parts` without a reduction, so that its size can be known without
    computing an array; 0 if all contain one."""
    return next((i for i, part in enumerate(parts) if not has_reduction(part)), 0)


@rule("split k . zip  =  map zip . zip . map (split k)")
def split_zip(e: Split) -> Expr | None:
    match e:
        case Split(k, Zip(parts)):
            rows = Zip(tuple(Split(k, p) for p in parts))
            return Map(
                lam(
                    "row", elem_of(rows), lambda r: Zip(tuple(Get(i, r) for i in range(len(parts))))
                ),
                rows,
            )
    return None
