"""The check of names before anything is expanded: each is bound once and before its use, and no
definition calls itself."""

from collections.abc import Iterator, Set

from ir.errors import UserError
from ir.text.suggest import did_you_mean
from ir.text.surface import (
    Apply,
    Component,
    Definition,
    File,
    Group,
    Lambda,
    LetIn,
    Name,
    Operator,
    Surface,
    Vectorized,
    pattern_names,
    type_sizes,
)
from ir.text.written_sizes import FUNCTIONS, size_names

MOST = 500  # definitions of a file


def check_names(file: File, builtin: Set[str], sizes: Set[str]) -> None:
    """Raise a UserError at the first name in a file that is bound twice, unknown, or used before
    its definition. Known are the names in `builtin`, and those of `sizes`."""
    _unique([d.name for d in file.definitions], "defined")
    if len(file.definitions) > MOST:
        found = len(file.definitions)
        at = file.definitions[MOST].name.span
        raise UserError(f"expected at most {MOST} definitions, found {found}", at)
    known = {*builtin, *sizes, *FUNCTIONS}
    for i, d in enumerate(file.definitions):
        _unique([n for p in d.params for n in pattern_names(p.pattern)], "a parameter")
        local = {n.text for p in d.params for n in pattern_names(p.pattern)}
        if i < len(file.definitions) - 1:
            local |= {n.text for p in d.params for e in type_sizes(p.type) for n in size_names(e)}
        for name, inside in used(d.body, frozenset(local)):
            if name.text not in inside and name.text not in known:
                raise _unknown(name, inside | known, i, file.definitions)
        known.add(d.name.text)


def _unique(names: list[Name], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name.text in seen:
            raise UserError(f"duplicate name: `{name.text}` is {what} twice", name.span)
        seen.add(name.text)


def _unknown(name: Name, known: Set[str], i: int, all_: tuple[Definition, ...]) -> UserError:
    own = all_[i].name.text
    later = {d.name.text: d for d in all_[i + 1 :]}
    if name.text == own:
        return UserError(f"`{own}` calls itself; recursion is not in the language", name.span)
    if name.text in later:
        back = any(n.text == own for n, _ in used(later[name.text].body, frozenset()))
        why = f"`{name.text}` is defined after `{own}`; a definition calls only earlier ones"
        if back:
            why = f"`{own}` and `{name.text}` call each other; recursion is not in the language"
        return UserError(why, name.span)
    return UserError(f"unknown name `{name.text}`{did_you_mean(name.text, known)}", name.span)


def used(e: Surface, inside: frozenset[str]) -> Iterator[tuple[Name, frozenset[str]]]:
    """The names that e uses, each with the local names around it; `inside` are those around e."""
    match e:
        case Name():
            yield e, inside
        case Apply(head, args, _):
            for part in (head, *args):
                yield from used(part, inside)
        case Operator(_, parts, _) | Group(parts, _):
            for part in parts:
                yield from used(part, inside)
        case Component(_, part, _) | Vectorized(part, _):
            yield from used(part, inside)
        case Lambda(p, body, _):
            _unique(list(pattern_names(p)), "in this pattern")
            yield from used(body, inside | {n.text for n in pattern_names(p)})
        case LetIn(p, value, body, _, _):
            _unique(list(pattern_names(p)), "in this pattern")
            yield from used(value, inside)
            yield from used(body, inside | {n.text for n in pattern_names(p)})
