"""The tidying of a program's text: spaces and empty lines as they are usually written. Comments,
line breaks and the indentation of lines stay as the author chose them."""

# key: a b tokens that stand side by side

from lark import Token

from ir.text.read_tree import read
from ir.text.tokens import tokenize

OPENS = frozenset({"_CALL", "_GROUP", "LSQB"})
CLOSES = frozenset({"_CLOSE", "RSQB"})
ENDS = frozenset({"NAME", "FLOAT", "INT", "COMPONENT", *CLOSES})  # what an operator may follow
OPERATORS = frozenset(
    {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "LEFT", "RIGHT", "AMPERSAND", "BAR"}
    | {"LESS", "MORE", "LESS_EQUAL", "MORE_EQUAL", "EQUALS", "DIFFERS"}
)
ALIGNED = frozenset({"EQUAL", "COLON"})  # often below each other: spaces before them are kept
COMMENT = "--"


def tidy(text: str, name: str = "<program>") -> str:
    """The text of a program with its spaces set; a UserError, which calls the text `name`, if it
    cannot be parsed."""
    read(text, name)
    tokens = tokenize(text, name)
    made = _without_empty_lines(_lines(text, tokens))
    assert [(t.type, str(t)) for t in tokenize(made, name)] == [(t.type, str(t)) for t in tokens]
    return made


def _lines(text: str, tokens: list[Token]) -> list[str]:
    lines, start, left = [], 0, iter([*tokens, None])
    token = next(left)
    before: Token | None = None  # on an earlier line
    for line in text.split("\n"):
        end, own = start + len(line), list[Token]()
        while token is not None and (token.start_pos or 0) < end:
            own.append(token)
            token = next(left)
        lines.append(_line(text, start, end, own, before))
        before = own[-1] if own else before
        start = end + 1
    return lines


def _line(text: str, start: int, end: int, own: list[Token], before: Token | None) -> str:
    """The tidied text of the line from `start` to `end` with the tokens `own`; it keeps its
    indentation. `before` is the last token of earlier lines, None if there is none."""
    first = (own[0].start_pos or 0) if own else end
    last = (own[-1].end_pos or 0) if own else start
    made = "" if not own else _indent(text[start:first])
    for i, token in enumerate(own):
        behind = own[i - 2] if i > 1 else before
        made += _gap(text, own[i - 1], token, behind) + str(token) if i else str(token)
    comment = text[last:end].strip()
    if not comment:
        return made.rstrip()
    kept = text[last:end][: len(text[last:end]) - len(text[last:end].lstrip())]
    return made + (_indent(kept) if not own else max(kept, " ")) + _comment(comment)


def _indent(spaces: str) -> str:
    return spaces.replace("\r", "").replace("\f", "").expandtabs(4)


def _comment(comment: str) -> str:
    """The comment with a space after its two dashes, unless it is a line of dashes only."""
    words = comment.removeprefix(COMMENT)
    return comment if not words or words[0] in " -" else f"{COMMENT} {words}"


def _gap(text: str, a: Token, b: Token, behind: Token | None) -> str:
    """The spaces to put between the neighbouring tokens a and b of a line; `behind` is the token
    before a, None if there is none."""
    written = text[a.end_pos : b.start_pos]
    usual = " " if written else ""
    if b.type in ("_CALL", "COMMA", "COMPONENT") or b.type in CLOSES or a.type in OPENS:
        return ""
    if b.type in ALIGNED:
        return max(written.replace("\t", " "), " ")
    if a.type in ("COMMA", "EQUAL", "COLON", "LET", "CONST") or str(a) == "->" or str(b) == "->":
        return " "
    if a.type == "MINUS" and (behind is None or behind.type not in ENDS):
        return usual  # it negates
    if a.type in ("LESS", "MORE") or b.type in ("LESS", "MORE"):
        return usual  # it may be the width of a vector, float<4>
    return " " if a.type in OPERATORS or b.type in OPERATORS else usual


def _without_empty_lines(lines: list[str]) -> str:
    """The text of these lines, without empty lines at the start and the end, and with at most one
    between others."""
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    while kept and not kept[-1]:
        kept.pop()
    return "\n".join(kept) + "\n"
