"""The reader of expressions of OpenCL C, by recursive descent."""

# key: e expression

import re

from codegen.text_reader.c_syntax import (
    Call,
    Cast,
    CExpr,
    Choice,
    Element,
    Infix,
    Lanes,
    Name,
    Negative,
    Pointed,
    Pointer,
    Real,
    Whole,
)
from codegen.text_reader.c_tokens import NotRead, Tokens
from codegen.text_reader.c_words import CONSTANTS, KINDS, SPACES
from codegen.tree.kernel_values import Kind
from codegen.tree.memories import Space

BYTE = Kind("char")
QUALIFIERS = frozenset({"const", *SPACES})  # what the type of a pointer begins with
GOES_ON = frozenset("([.")  # behind a name, that is more than a name
TIGHTNESS = {
    "&&": 1, "|": 2, "^": 3, "&": 4, "==": 5, "!=": 5, "<": 6, ">": 6, "<=": 6, ">=": 6,
    "<<": 7, ">>": 7, "+": 8, "-": 8, "*": 9, "/": 9, "%": 9,
}  # fmt: skip
SUFFIXES = {"f": "float", "h": "half"}
_LANES = re.compile(r"s[0-9a-f]{1,16}")


def expression(tokens: Tokens) -> CExpr:
    """The next expression: test ? a : b, or one whose operators bind more tightly."""
    e = infix(tokens, 1)
    if not tokens.accept("?"):
        return e
    a = expression(tokens)
    tokens.expect(":")
    return Choice(e, a, expression(tokens))


def infix(tokens: Tokens, least: int) -> CExpr:
    """The next expression of operators that bind at least as tightly as `least`, read from left to
    right."""
    left = unary(tokens)
    while (holds := TIGHTNESS.get(tokens.words[tokens.at], 0)) >= least:
        op = tokens.take()
        left = Infix(op, left, infix(tokens, holds + 1))
    return left


def unary(tokens: Tokens) -> CExpr:
    word = tokens.words[tokens.at]
    if word in tokens.leaves and tokens.words[tokens.at + 1] not in GOES_ON:
        tokens.at += 1
        return tokens.leaves[word]
    if word == "-":
        tokens.take()
        return Negative(unary(tokens))
    if word == "*":
        return pointed(tokens)
    if word == "(" and tokens.ahead(1) in KINDS:
        return cast(tokens)
    if word == "(" and tokens.ahead(1) in QUALIFIERS:
        return pointer(tokens)
    return postfix(tokens)


def cast(tokens: Tokens) -> CExpr:
    """The next expression at the precedence of a cast: a cast (kind)e, a vector (kind)(e, …), or
    what binds more tightly."""
    tokens.expect("(")
    kind = KINDS[tokens.take()]
    tokens.expect(")")
    if kind.width > 1 and tokens.word == "(":
        parts = arguments(tokens)
        if kind.width % len(parts):
            tokens.refuse(f"as many parts of a vector before as {kind.width} is a multiple of")
        return Cast(kind, parts)
    return Cast(kind, (unary(tokens),))


def pointed(tokens: Tokens) -> Pointed:
    """The next expression, *(const __space kind *)&array[index], *(…)(array + index), or
    *(…)((const __space char *)array + index)."""
    tokens.expect("*")
    space, kind = pointer_type(tokens)
    if tokens.accept("&"):
        e = postfix(tokens)
    elif tokens.ahead(1) == "(":
        return behind(tokens, space, kind)
    else:
        tokens.expect("(")
        e = element_at(expression(tokens))
        tokens.expect(")")
    return Pointed(space, kind, element_of(e, tokens))


def pointer(tokens: Tokens) -> Pointer:
    """The next expression, (const __space kind *)((const __space char *)array + index)."""
    return Pointer(behind(tokens, *pointer_type(tokens)))


def behind(tokens: Tokens, space: Space, kind: Kind) -> Pointed:
    """The value of this kind that the next tokens, ((const __space char *)array + index), point
    to."""
    tokens.expect("(")
    if pointer_type(tokens) != (space, BYTE):
        tokens.refuse(f"a pointer to __{space.value} char before")
    e = element_at(expression(tokens))
    tokens.expect(")")
    return Pointed(space, kind, element_of(e, tokens), in_bytes=True)


def element_of(e: CExpr, tokens: Tokens) -> Element:
    """The expression e if it is an element of an array; NotRead if it is not."""
    if not isinstance(e, Element):
        tokens.refuse("an element before")
    return e


def pointer_type(tokens: Tokens) -> tuple[Space, Kind]:
    """The address space and the kind that the next tokens, (const __space kind *), name."""
    tokens.expect("(")
    tokens.accept("const")
    space = SPACES.get(tokens.word)
    if space is None:
        tokens.refuse("an address space")
    tokens.take()
    kind = kind_of_token(tokens)
    tokens.expect("*", ")")
    return space, kind


def element_at(pointer: CExpr) -> CExpr:
    """The element array[index + …] for an expression array + index + …; another expression
    unchanged."""
    match pointer:
        case Infix("+", Name(array), index):
            return Element(array, index)
        case Infix("+" | "-" as op, left, more):
            first = element_at(left)
            if isinstance(first, Element):
                return Element(first.array, Infix(op, first.index, more))
    return pointer


def postfix(tokens: Tokens) -> CExpr:
    e = primary(tokens)
    if tokens.word == "[":
        if not isinstance(e, Name):
            tokens.refuse("an operator")
        tokens.take()
        e = Element(e.name, expression(tokens))
        tokens.expect("]")
    if tokens.accept("."):
        word = tokens.take()
        if not _LANES.fullmatch(word):
            raise NotRead(f"line {tokens.line}: expected lanes such as s0, found {word!r}")
        e = Lanes(e, tuple([int(digit, 16) for digit in word[1:]]))
    return e


def primary(tokens: Tokens) -> CExpr:
    if tokens.accept("("):
        e = expression(tokens)
        tokens.expect(")")
        return e
    word = tokens.word
    if not (word.isidentifier() or word[:1].isdecimal() or word[:1] == "." != word):
        tokens.refuse("an expression")
    if not word.isidentifier():
        leaf = literal(tokens)
    elif tokens.ahead(1) == "(":
        return Call(tokens.take(), arguments(tokens))
    else:
        leaf = Real("float") if tokens.take() in CONSTANTS else Name(word)
    tokens.leaves[word] = leaf
    return leaf


def arguments(tokens: Tokens) -> tuple[CExpr, ...]:
    tokens.expect("(")
    found = [expression(tokens)]
    while tokens.accept(","):
        found.append(expression(tokens))
    tokens.expect(")")
    return tuple(found)


def literal(tokens: Tokens) -> CExpr:
    """The next expression, a literal: 1, 1L, 1.0f or 1.0h."""
    word = tokens.word
    if word.isdecimal():
        value = tokens.number()
        return Whole(value, value >= 1 << 31)
    if word[:-1].isdecimal() and word[-1] == "L":
        tokens.words[tokens.at] = word[:-1]
        return Whole(tokens.number(), True)
    if word[-1] not in SUFFIXES:
        tokens.refuse("a float or a half")
    return Real(SUFFIXES[tokens.take()[-1]])


def kind_of_token(tokens: Tokens) -> Kind:
    """The kind that the next token, a type, names."""
    kind = KINDS.get(tokens.word)
    if kind is None:
        tokens.refuse("a type")
    tokens.take()
    return kind
