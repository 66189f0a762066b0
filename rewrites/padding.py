"""Which elements of windows are zeros that a program pads with: products with them need not be.

Along each dimension of a view a line says where it holds elements of an input. All others are
zeros, so that a product of lines says of each element whether it is one.
"""

# key: e xs terms, n size and s step of windows

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from ir.nodes import Expr, Lit, Map, Pad, PadEdge, Pattern, Slide, Transpose, Var, Zip
from ir.terms import free, subterms
from ir.types import Array, Type
from ir.typing import type_of

Line = tuple[bool, ...]
Lines = tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Real:
    """The part of all products that is not with padding, and of the fullest window's."""

    all: Fraction
    fullest: Fraction


class _Unknown(Exception):
    """Padding that is in the way of lines."""


def real(maps: list[Map], inside: Expr) -> Real:
    """Of a nest of maps around a reduction; nothing, where padding is not understood."""
    taps: list[list[Fraction]] = []
    known: dict[str, Lines] = {}
    try:
        for m in maps:
            known |= _bound(m.f.pattern, m.xs, known, taps)
        _none_left(inside, known)
    except _Unknown:
        return Real(Fraction(0), Fraction(0))
    means = [sum(parts, Fraction(0)) / len(parts) for parts in taps]
    return Real(prod(means, start=Fraction(1)), prod(map(max, taps), start=Fraction(1)))


def _bound(
    pattern: Pattern, xs: Expr, known: Mapping[str, Lines], taps: list[list[Fraction]]
) -> dict[str, Lines]:
    """What is known of the elements of an array that is mapped over, whole."""
    if isinstance(pattern, tuple):
        if not isinstance(xs, Zip):
            _none_left(xs, known)
            return {}
        parts = zip(pattern, xs.parts, strict=True)
        return {k: v for p, part in parts for k, v in _bound(p, part, known, taps).items()}
    first, *rest = _lines(xs, known, taps)
    if not all(first):
        raise _Unknown
    return {pattern.name: tuple(rest)}


def _lines(e: Expr, known: Mapping[str, Lines], taps: list[list[Fraction]]) -> Lines:
    """Of each dimension. Of windows, what part is real goes to `taps`."""
    match e:
        case Var(name) if name in known:
            return known[name]
        case Pad(int(left), int(right), Lit(0), xs):
            line, *rest = _lines(xs, known, taps)
            kept = line[max(0, -left) : len(line) - max(0, -right)]
            return ((False,) * left + kept + (False,) * right, *rest)
        case Transpose(xs):
            first, second, *rest = _lines(xs, known, taps)
            return (second, first, *rest)
        case Map(f, xs) if isinstance(f.pattern, Var):
            first, *rest = _lines(xs, known, taps)
            return (first, *_lines(f.body, {**known, f.pattern.name: tuple(rest)}, taps))
        case Slide(int(n), int(s), xs):
            line, *rest = _lines(xs, known, taps)
            windows = range((len(line) - n) // s + 1)
            taps.append([Fraction(sum(line[w * s : w * s + n]), n) for w in windows])
            return ((True,) * len(windows), (True,) * n, *rest)
    _none_left(e, known)
    return _whole(type_of(e))


def _whole(t: Type) -> Lines:
    """Lines without padding."""
    match t:
        case Array(elem, int(n)):
            return ((True,) * n, *_whole(elem))
    return ()


def _none_left(e: Expr, known: Mapping[str, Lines]) -> None:
    """No padding reaches a term."""
    lines = [line for name in free(e) if name in known for line in known[name]]
    padded = any(isinstance(sub, Pad | PadEdge) for sub in subterms(e))
    if padded or not all(map(all, lines)):
        raise _Unknown
