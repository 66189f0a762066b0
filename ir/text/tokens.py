"""The tokeniser and the parser to a syntax tree: brackets must balance, nesting is bounded, and
each mistake is reported with its place."""

from functools import cache
from pathlib import Path

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from ir.errors import Span, UserError
from ir.text.other_languages import hint_for
from ir.text.suggest import did_you_mean

LONGEST = 1_000_000  # characters of a program
MOST = 100_000  # symbols of a program
DEEPEST = 150  # brackets inside brackets

WORDS = ("let", "where", "const", "unrolled", "vectorized")
SPELLED = {
    "_CALL": "`(`",
    "_GROUP": "`(`",
    "_CLOSE": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "EQUAL": "`=`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "__ANON_0": "`->`",
    "LESS": "`<`",
    "MORE": "`>`",
    "NAME": "a name",
    "WHERE": "`where`",
    "$END": "the end",
}
EXPRESSION = frozenset({"NAME", "FLOAT", "INT", "_GROUP", "MINUS"})
ENDS = frozenset({"NAME", "FLOAT", "INT", "_CLOSE", "RSQB", "COMPONENT"})  # of an expression


@cache
def grammar() -> Lark:
    """The language's grammar, read once."""
    text = (Path(__file__).parent / "grammar.lark").read_text()
    return Lark(text, start="file", parser="lalr", lexer="basic", propagate_positions=True)


def syntax_tree(text: str, name: str) -> Tree[Token]:
    """The syntax tree of a text; a UserError at the first token that does not fit the grammar.
    `name` stands for the text in messages."""
    if len(text) > LONGEST:
        raise UserError(
            f"{name}: a program of {len(text):,} characters; expected at most {LONGEST:,}"
        )
    tokens = tokenize(text, name)
    check_brackets(tokens, text, name)
    parser = grammar().parse_interactive("")
    last = Token("$END", "", start_pos=len(text.rstrip()), end_pos=len(text.rstrip()) + 1)
    try:
        for token in tokens:
            parser.feed_token(token)
        tree = parser.feed_eof(last)
    except UnexpectedToken as error:
        before = [t for t in tokens if (t.end_pos or 0) <= (error.token.start_pos or 0)]
        raise _unexpected(error, before, text, name) from None
    assert isinstance(tree, Tree)
    return tree


def span_of(token: Token, text: str, name: str) -> Span:
    """The span of a token in its text."""
    start = token.start_pos or 0
    return Span(text, start, token.end_pos or start + 1, name)


def tokenize(text: str, name: str) -> list[Token]:
    """The tokens of a text, each `(` marked as one that calls or one that groups; messages call the
    text `name`."""
    tokens: list[Token] = []
    try:
        for token in grammar().lex(text):
            calls = token.type == "_GROUP" and tokens and _calls(tokens[-1], token, text)
            tokens.append(Token.new_borrow_pos("_CALL", token, token) if calls else token)
            if len(tokens) > MOST:
                at = span_of(token, text, name)
                raise UserError(f"expected a program of at most {MOST:,} symbols, found more", at)
    except UnexpectedCharacters as error:
        at = Span(text, error.pos_in_stream, error.pos_in_stream + 1, name)
        found = text[at.start]
        hint = "; `--` begins a comment" if found == "#" else ""
        raise UserError(
            f"expected a name, a number or a symbol, found {found!r}{hint}", at
        ) from None
    return tokens


def _calls(before: Token, token: Token, text: str) -> bool:
    if before.type not in ("NAME", "_CLOSE"):
        return False
    return "\n" not in text[before.end_pos : token.start_pos]


def check_brackets(tokens: list[Token], text: str, name: str) -> None:
    """Raise a UserError unless every bracket among the tokens of a text is closed by one of its
    kind, and nesting is not too deep. The message calls the text `name`."""
    opened: list[Token] = []
    for token in tokens:
        if token in ("(", "["):
            opened.append(token)
            if len(opened) > DEEPEST:
                at = span_of(token, text, name)
                raise UserError(f"nested too deep: more than {DEEPEST} brackets are open", at)
        elif token in (")", "]"):
            wanted = "(" if token == ")" else "["
            if not opened:
                raise UserError(
                    f"found `{token}`, but no `{wanted}` is open", span_of(token, text, name)
                )
            if opened.pop() != wanted:
                raise UserError(
                    f"found `{token}`, which does not close the bracket before it",
                    span_of(token, text, name),
                )
        elif token.type == "WHERE" and opened:
            break
    if opened:
        raise UserError(f"this `{opened[-1]}` is never closed", span_of(opened[-1], text, name))


def _unexpected(error: UnexpectedToken, before: list[Token], text: str, name: str) -> UserError:
    token, expected = error.token, set(error.accepts or error.expected)
    if expected == {"_CALL"} and len(before) >= 2:
        return _two_in_a_row(before[-2], before[-1], text, name)
    found = "the end" if token.type == "$END" else f"`{token}`"
    elsewhere = hint_for(before, token, text)
    if text.startswith("=>", token.start_pos or 0):
        arrow = Token.new_borrow_pos(token.type, "=>", token)
        arrow.end_pos = (token.start_pos or 0) + 2
        return UserError(f"found `=>`, expected `->`{elsewhere}", span_of(arrow, text, name))
    if expected >= EXPRESSION and before[-1].type in ENDS and "let" in before:
        hint = "; a body in brackets begins on a new line" if _apart(before, text) else elsewhere
        at = span_of(token, text, name)
        return UserError(f"found {found}, expected the body of `let`{hint}", at)
    hint = did_you_mean(str(token), WORDS) if token.type == "NAME" else ""
    if token.type == "WHERE" or (token.type == "NAME" and {"COMMA", "$END"} <= expected):
        hint = hint or elsewhere or "; one `where` ends the file"
    return UserError(
        f"found {found}, expected {_spell(expected)}{hint or elsewhere}", span_of(token, text, name)
    )


def _apart(tokens: list[Token], text: str) -> bool:
    """True if the tokens end with a call whose opening bracket follows a space, which may be meant
    as a tuple: `f(x) (a, b)`."""
    depth = 0
    for token in reversed(tokens):
        depth += {"_CLOSE": 1, "_CALL": -1, "_GROUP": -1}.get(token.type, 0)
        if depth == 0:
            return token.type == "_CALL" and text[(token.start_pos or 0) - 1].isspace()
    return False


def _two_in_a_row(first: Token, second: Token, text: str, name: str) -> UserError:
    """The UserError for two names in a row, `first` and `second`, as in `a b`: the parser took b
    for the start of the next definition."""
    hint = did_you_mean(str(first), WORDS) if first.type == "NAME" else ""
    hint = hint_for([], first, text) or hint
    at = span_of(first if hint else second, text, name)
    found = f"found `{first}`" if hint else f"found `{second}` after an expression"
    return UserError(f"{found}, expected an operator or a definition name(…) = …{hint}", at)


def _spell(expected: set[str]) -> str:
    if expected >= EXPRESSION:
        return "an expression"
    known = sorted({SPELLED[t] for t in expected if t in SPELLED and t != "COMPONENT"})
    if expected & {"PLUS", "STAR"}:
        known.append("an operator")
    return " or ".join(known) if known else "something else"
