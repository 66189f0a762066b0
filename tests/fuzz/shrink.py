"""The shrinking of a program with which something goes wrong: it is replaced by smaller ones with
which the same goes wrong."""

# key: e term, t its type

import re
from collections.abc import Callable, Iterator
from itertools import islice

from ir.core.nodes import Expr, Lam, Let, Lit, Param, Program, Var
from ir.core.terms import children, free, rebuild, subterms, variables
from ir.core.type_rules import type_of
from ir.core.types import Scalar, Type, equal, is_whole
from ir.errors import IllTyped, Unsupported, UserError
from ir.parse import parse
from ir.text.show import show
from tests.support.random_terms import free_variables

TRIES = 400  # smaller programs, at most

Fails = Callable[[Program], bool]


def shrunk(program: Program, fails: Fails, tries: int = TRIES) -> Program:
    """The smallest program found, from `program` on, for which `fails` is true; at most `tries`
    smaller ones are tried."""
    left = tries
    while left > 0:
        for smaller in islice(smaller_programs(program), left):
            left -= 1
            if fails(smaller):
                program = smaller
                break
        else:
            return program
    return program


def smaller_programs(program: Program) -> Iterator[Program]:
    """The programs that are one step smaller: with a term replaced by a term inside it, by a
    parameter or by a number, or with a smaller number in the text."""
    for body in smaller_terms(program.body):
        try:
            params = free_variables(body)
        except IllTyped:
            continue
        const = {p.var.name for p in program.params if p.const}
        yield Program(
            program.name, tuple(Param(v, v.name in const) for v in params), body, program.free
        )
    yield from smaller_sizes(program)


def smaller_terms(e: Expr) -> Iterator[Expr]:
    """The terms that are one step smaller than e, the largest steps first: outer terms are replaced
    before inner ones."""
    for path, inner in sorted(places(e), key=lambda found: len(found[0])):
        for other in replacements(inner):
            changed = put(e, path, other)
            if typed(changed):
                yield changed


def places(e: Expr, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Expr]]:
    """The path of e and of each term inside it that is no function, with the term; `path` is that
    of e."""
    if not isinstance(e, Lam):
        yield path, e
    for k, child in enumerate(children(e)):
        yield from places(child, (*path, k))


def replacements(e: Expr) -> Iterator[Expr]:
    """Simpler terms that may replace e: terms of the same type inside e, a number, and a
    parameter."""
    t = type_of(e)
    for inner in islice(subterms(e), 1, None):
        if not isinstance(inner, Lam) and same_type(inner, t) and free(inner) <= free(e):
            yield inner
    if isinstance(e, Let) and not bound_by(e) & free(e.body):
        yield e.body
    if isinstance(t, Scalar) and not isinstance(e, Lit):
        yield Lit(1 if is_whole(t) else 1.0, t)
    if not isinstance(e, Lit | Var):
        yield Var("given", t)


def bound_by(e: Let) -> frozenset[str]:
    return frozenset(v.name for v in variables(e.pattern))


def same_type(e: Expr, t: Type) -> bool:
    return typed(e) and equal(type_of(e), t)


def typed(e: Expr) -> bool:
    try:
        type_of(e)
    except (IllTyped, Unsupported):
        return False
    return True


def put(e: Expr, path: tuple[int, ...], other: Expr) -> Expr:
    if not path:
        return other
    inside = list(children(e))
    inside[path[0]] = put(inside[path[0]], path[1:], other)
    return rebuild(e, tuple(inside))


def smaller_sizes(program: Program) -> Iterator[Program]:
    """The programs whose text is that of `program` with one number made smaller."""
    text = show(program)
    numbers = sorted({int(n) for n in re.findall(r"(?<![\w.])\d+(?![\w.])", text)}, reverse=True)
    for n in numbers:
        for less in dict.fromkeys((n // 2, n - 1)):
            if less >= 1:
                try:
                    yield parse(re.sub(rf"(?<![\w.]){n}(?![\w.])", str(less), text))
                except (UserError, Unsupported, IllTyped):
                    continue
