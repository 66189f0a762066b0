"""Hints for those who come from other languages: how what they wrote is written here."""

from collections.abc import Sequence

from lark import Token

HINTS = {
    "if": "`select(c, a, b)` is a where c holds, else b",
    "then": "`select(c, a, b)` is a where c holds, else b",
    "for": "`map(x -> …, xs)` does something with each element, `reduce` adds up",
    "while": "`map` and `reduce` are the only loops",
    "lambda": "a function is written `x -> …`",
    "def": "a definition is written `name(x) = …`",
    "fn": "a function is written `x -> …`",
    "return": "the last expression is the result",
}
TYPES = frozenset({"float", "half", "bfloat", "int", "long", "short", "ushort", "char", "uchar"})


def hint_for(before: Sequence[Token], token: Token, text: str) -> str:
    """The hint, begun by a semicolon, for a token of `text` that was not expected after the tokens
    `before`; empty if there is none."""
    last = str(before[-1]) if before else ""
    if token == "[" and last in TYPES:
        return f"; an array of n numbers is written `[{last}]n`"
    if last == "]" and token in (",", ")"):
        return "; an array of n numbers is written `[float]n`"
    if text.startswith("=>", token.start_pos):
        return "; a function is written `x -> …`"
    found = HINTS.get(str(token), HINTS.get(last))
    return f"; {found}" if found else ""
