"""Messages about unknown names: the name that was written, and a known one that may have been
meant."""

from collections.abc import Iterable
from difflib import get_close_matches

from ir.errors import UserError

LISTED = 16  # names that a message tells when none of them is near


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The text `; did you mean …?` with the known word nearest to `word`; empty if none is near."""
    lower = {k.lower(): k for k in sorted(known, reverse=True)}
    near = get_close_matches(word.lower()[:40], sorted(lower), n=1, cutoff=0.65)
    return f"; did you mean `{lower[near[0]]}`?" if near else ""


def no_such(what: str, name: object, known: Iterable[str], of: str = "") -> UserError:
    """The UserError for an unknown name: it tells the nearest known name, or all of them if none is
    near.

    `what` is the kind of thing named ("family"); `of` is where it was looked for, if not
    everywhere.
    """
    listed = tuple(known)
    where = f"{of} has no" if of else "no"
    hint = did_you_mean(str(name), listed) or _expected(listed)
    return UserError(f"{where} {what} `{name}`{hint}")


def _expected(known: tuple[str, ...]) -> str:
    if not known:
        return "; there is none"
    more = f", … ({len(known)} in all)" if len(known) > LISTED else ""
    return f"; expected {'' if len(known) == 1 else 'one of '}{', '.join(known[:LISTED])}{more}"
