"""Did you mean …?"""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` with the nearest known word, or nothing."""
    lower = {k.lower(): k for k in sorted(known, reverse=True)}
    near = get_close_matches(word.lower()[:40], sorted(lower), n=1, cutoff=0.65)
    return f"; did you mean `{lower[near[0]]}`?" if near else ""
