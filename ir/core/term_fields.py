"""The fields of nodes that hold terms: reading these terms, and copying a node with other terms in
their place."""

# key: e node

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any

from ir.core.nodes import Expr, Lam

Terms = tuple[Expr, ...]


def terms_in(e: Expr) -> Terms:
    """The terms directly inside e, in order."""
    node: type = type(e)
    return _reader(node)(e)


def with_terms(e: Expr, new: Terms) -> Expr:
    """A node like e with the terms `new` in place of those directly inside e, in the same order."""
    node: type = type(e)
    return _maker(node)(e, new)


@cache
def _reader(node: type) -> Callable[[Any], Terms]:
    names = [field.name for field in fields(node) if _holds(field.type)]
    if not names:
        return lambda e: ()
    get: Callable[[Any], Any] = attrgetter(*names)
    return get if len(names) > 1 or names == ["parts"] else lambda e: (get(e),)


@cache
def _maker(node: type) -> Callable[[Expr, Terms], Expr]:
    every = fields(node)
    places = [i for i, field in enumerate(every) if _holds(field.type)]
    if [field.name for field in every] == ["parts"]:
        return lambda e, new: node(new)
    if [field.name for field in every] == ["instruction", "parts"]:
        return lambda e, new: node(attrgetter("instruction")(e), new)
    if len(places) == len(every):
        return lambda e, new: node(*new)
    get = attrgetter(*(field.name for field in every))

    def make(e: Expr, new: Terms) -> Expr:
        values = list(get(e))
        for i, term in zip(places, new, strict=True):
            values[i] = term
        made: Expr = node(*values)
        return made

    return make


def _holds(kind: object) -> bool:
    """True if a field of this type holds a term, a function, or a tuple of terms."""
    return kind in (Expr, Lam, Terms)
