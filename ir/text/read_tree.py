"""The reader from text to a surface tree: a plain walk of the syntax tree."""

# key: t a syntax tree or token, p pattern

from typing import TypeAlias

from lark import Token, Tree

from ir.core.frozen import frozen
from ir.core.type_rules import COMPARISONS
from ir.errors import Span, UserError
from ir.text.surface import (
    Apply,
    Binding,
    Component,
    Definition,
    File,
    Group,
    Lambda,
    LetIn,
    List,
    Name,
    Number,
    Operator,
    Parameter,
    Surface,
    SurfacePattern,
    SurfaceType,
    TypeArray,
    TypeName,
    TypeTuple,
    Vectorized,
)
from ir.text.tokens import syntax_tree

DEEPEST = 300
Syntax: TypeAlias = Tree[Token] | Token


def read(text: str, name: str = "<program>") -> File:
    """The definitions and sizes written in a text; messages call the text `name`."""
    return Reader(text, name).file(syntax_tree(text, name))


@frozen
class Reader:
    """The reader of one text: it makes surface trees of the parts of its syntax tree. Messages call
    the text `name`."""

    text: str
    name: str

    def span(self, t: Syntax) -> Span:
        if isinstance(t, Token):
            start, end = t.start_pos, t.end_pos
        else:
            start, end = t.meta.start_pos, t.meta.end_pos
        return Span(self.text, start or 0, end or 0, self.name)

    def file(self, t: Tree[Token]) -> File:
        definitions = [c for c in t.children if isinstance(c, Tree) and c.data == "definition"]
        where = t.children[-1]
        bindings = where.children if isinstance(where, Tree) and where.data == "where" else []
        return File(
            tuple(self.definition(d) for d in definitions),
            tuple(self.binding(b) for b in bindings if isinstance(b, Tree)),
        )

    def definition(self, t: Tree[Token]) -> Definition:
        name, *params, body = (c for c in t.children if c is not None)
        return Definition(
            self.named(name),
            tuple(self.parameter(p) for p in params if isinstance(p, Tree)),
            self.expr(body, 0),
        )

    def parameter(self, t: Tree[Token]) -> Parameter:
        const, pattern, declared = t.children
        return Parameter(
            self.pattern(self.expr(pattern, 0)),
            None if declared is None else self.type(declared),
            const is not None,
            self.span(t),
        )

    def binding(self, t: Tree[Token]) -> Binding:
        name, size = t.children
        unknown = isinstance(size, Token) and size.type == "UNKNOWN"
        return Binding(self.named(name), None if unknown else self.expr(size, 0), self.span(t))

    def named(self, t: Syntax) -> Name:
        assert isinstance(t, Token)
        return Name(str(t), self.span(t))

    def type(self, t: Syntax) -> SurfaceType:
        assert isinstance(t, Tree)
        match t.data:
            case "scalar":
                name, width = t.children
                return TypeName(
                    str(name), None if width is None else self.expr(width, 0), self.span(t)
                )
            case "array":
                elem, size = t.children
                return TypeArray(self.type(elem), self.expr(size, 0), self.span(t))
            case "type_tuple":
                return TypeTuple(tuple(map(self.type, t.children)), self.span(t))
        raise AssertionError(f"no reading of the type {t.data}")

    def expr(self, t: Syntax, depth: int) -> Surface:
        if depth > DEEPEST:
            raise UserError(f"nested too deep: more than {DEEPEST} levels", self.span(t))
        if isinstance(t, Token):
            return self.leaf(t)
        span, parts = self.span(t), t.children
        match t.data:
            case "operators":
                return self.operators(parts, depth)
            case "let":
                word, p, value, body = parts
                value, body = self.expr(value, depth + 1), self.expr(body, depth + 1)
                return LetIn(self.pattern(self.expr(p, depth)), value, body, word == "let!", span)
        inner = [self.expr(c, depth + 1) for c in parts if not _is_mark(c)]
        match t.data:
            case "group":
                return inner[0] if len(inner) == 1 else Group(tuple(inner), span)
            case "list":
                return List(tuple(inner), span)
            case "function":
                return Lambda(self.pattern(inner[0]), inner[1], span)
            case "vectorized":
                return Vectorized(inner[0], span)
            case "negative":
                return self.negative(parts[1], inner[0], span)
            case "unrolled":
                return self.unrolled(inner[0], span)
            case "call":
                return _call(inner[0], tuple(inner[1:]), span)
            case "component":
                return Component(int(str(parts[1])[1:6]), inner[0], span)
        raise AssertionError(f"no reading of {t.data}")

    def operators(self, parts: list[Syntax], depth: int) -> Surface:
        """The surface tree of operators and operands in a row, `parts`, such as a - b + c, read
        from the left; `depth` is the number of levels around."""
        if len(parts) > 3 and str(parts[1]) in COMPARISONS:
            raise UserError(
                "expected one comparison, found a chain of them: write `(a < b) & (b < c)`",
                self.span(parts[3]),
            )
        left = self.expr(parts[0], depth + 1)
        for i in range(1, len(parts), 2):
            if i // 2 + depth > DEEPEST:
                raise UserError(
                    f"expected at most {DEEPEST} operators in a row, found {len(parts) // 2}",
                    self.span(parts[i]),
                )
            right = self.expr(parts[i + 1], depth + 1)
            span = Span(self.text, left.span.start, right.span.end, self.name)
            left = Operator(str(parts[i]), (left, right), span)
        return left

    def leaf(self, t: Token) -> Surface:
        span = self.span(t)
        if t.type == "NAME":
            return Name(str(t), span)
        digits, suffix = _suffixed(str(t))
        if t.type == "INT":
            if len(digits) > 19:
                raise UserError("this number is too large: expected at most 19 digits", span)
            return Number(int(digits), suffix, span)
        value = float(digits)
        if value == float("inf") and digits != "inf":
            raise UserError("this number is too large for a float", span)
        return Number(value, suffix, span)

    def negative(self, written: Syntax, e: Surface, span: Span) -> Surface:
        """The surface tree of a minus before e, whose syntax is `written`: -2.0 is a number, -(2.0)
        negates one."""
        if isinstance(e, Number) and isinstance(written, Token):
            return Number(-e.value, e.suffix, span)
        return Operator("neg", (e,), span)

    def unrolled(self, e: Surface, span: Span) -> Surface:
        """The surface tree of `unrolled mapSeq`, which is a primitive of its own."""
        head = e.head if isinstance(e, Apply) else e
        if not isinstance(head, Name) or head.text not in ("mapSeq", "reduceSeq"):
            raise UserError("expected mapSeq or reduceSeq after `unrolled`", e.span)
        name = Name(f"unrolled {head.text}", Span(span.text, span.start, head.span.end, span.name))
        return Apply(name, e.args, span) if isinstance(e, Apply) else name

    def pattern(self, e: Surface) -> SurfacePattern:
        """The pattern x, or (a, (b, c)), that an expression in a binder's place means."""
        if isinstance(e, Name):
            return e
        if not isinstance(e, Group):
            raise UserError("expected a name, or names in brackets", e.span)
        return Group(tuple(map(self.pattern, e.parts)), e.span)


def _suffixed(word: str) -> tuple[str, str]:
    """The digits and the suffix of a number, `word`: `2uc` is (2, uc), `inf` has no suffix."""
    digits = "inf" if word.startswith("inf") else word.rstrip("hbficsuL")
    return digits, word[len(digits) :]


def _is_mark(t: Syntax | None) -> bool:
    return t is None or (isinstance(t, Token) and t.type in ("MINUS", "COMPONENT", "UNROLLED"))


def _call(head: Surface, args: tuple[Surface, ...], span: Span) -> Surface:
    """The surface tree of a call; head(a)(b) is head(a, b)."""
    if isinstance(head, Apply):
        return Apply(head.head, head.args + args, span)
    return Apply(head, args, span)
