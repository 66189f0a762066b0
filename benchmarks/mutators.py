"""The mutants of a Python file: in each, one function is changed in one small place, and the change
is kept as text that replaces text.

A mutant is a fault that tests should notice: `<` for `<=`, `and` for `or`, a guard that always
holds, two arguments exchanged, a number that is one larger. Types, decorators, patterns, default
values, strings and what a module does when it is imported stay as they are.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

# Each operator with what stands in its place.
COMPARED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
}
COMPUTED: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Add(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.FloorDiv(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant of a file: the bytes from `start` to `end`, which are `before`, are replaced by
    `after`. They stand in the function named `function`, in a statement in the lines `lines`, and
    begin at `column`."""

    file: str
    function: str
    lines: tuple[int, int]  # of the statement that it is in
    start: int
    end: int
    column: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """The text `file:line:column function: before -> after`, on one line."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        place = f"{self.file}:{self.lines[0]}:{self.column}"
        return f"{place} {self.function}: {before}  ->  {after}"

    def applied(self, source: bytes) -> bytes:
        """The bytes of the file (`source`) with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def mutants(file: str, source: bytes) -> list[Mutant]:
    """The mutants of the file named `file` with the bytes `source`, in the order of its text."""
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    found = list[Mutant]()
    for function, lines, node, after in _changes(ast.parse(source)):
        start = begins[node.lineno - 1] + node.col_offset
        end = begins[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source[start:end].decode()
        found.append(Mutant(file, function, lines, start, end, node.col_offset, before, after))
    return sorted(set(found), key=lambda m: (m.start, m.end, m.after))


Change = tuple[str, tuple[int, int], ast.expr, str]  # function, lines, expression, its new text


def _changes(tree: ast.AST) -> Iterator[Change]:
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef(name=name, body=body):
                for statement in body:
                    yield from _in_statement(statement, name)
            case ast.ClassDef():
                yield from _changes(node)


def _in_statement(node: ast.stmt, function: str) -> Iterator[Change]:
    """The changes of a statement's own expressions, and of the statements inside it, all in the
    function named `function`."""
    match node:
        case ast.FunctionDef(name=name, body=body):
            for statement in body:
                yield from _in_statement(statement, f"{function}.{name}")
            return
        case ast.ClassDef() | ast.Assert() | ast.Raise():
            return
        case ast.Expr(value=ast.Constant()):
            return
    blocks = [*_blocks(node)]
    last = blocks[0].lineno - 1 if blocks else node.end_lineno or node.lineno
    lines = (node.lineno, max(node.lineno, last))
    for expression in _own_expressions(node):
        yield from ((function, lines, e, ast.unparse(new)) for e, new in _mutated(expression))
    if isinstance(node, ast.If | ast.While):
        yield function, lines, node.test, f"not ({ast.unparse(node.test)})"
    if isinstance(node, ast.Return) and not _is_none(node.value) and node.value is not None:
        yield function, lines, node.value, "None"
    if isinstance(node, ast.Match):
        for case in node.cases:
            yield from _in_guard(case, function)
    for statement in blocks:
        yield from _in_statement(statement, function)


def _in_guard(case: ast.match_case, function: str) -> Iterator[Change]:
    """The changes of a match case's guard in the function named `function`; one of these makes a
    guard that always holds. There is none if the case has no guard."""
    if case.guard is not None:
        lines = (case.pattern.lineno, case.body[0].lineno - 1)
        lines = (lines[0], max(lines))
        yield function, lines, case.guard, "True"
        yield from ((function, lines, e, ast.unparse(new)) for e, new in _mutated(case.guard))


def _blocks(node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements directly inside a statement."""
    for field in ("body", "orelse", "finalbody"):
        yield from getattr(node, field, ())
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from part.body


def _own_expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement that are computed when it runs, without types, targets of
    assignments, and statements inside it."""
    for name in ("value", "test", "iter", "subject"):
        if isinstance(found := getattr(node, name, None), ast.expr):
            yield found


def _mutated(e: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Pairs of an expression and what may replace it, for e and for each expression inside it."""
    if isinstance(e, ast.JoinedStr):
        return
    for new in _replacements(e):
        yield e, new
    for node in ast.iter_child_nodes(e):
        if isinstance(node, ast.expr):
            yield from _mutated(node)
        elif isinstance(node, ast.comprehension):
            yield from _mutated(node.iter)
            for test in node.ifs:
                yield test, ast.Constant(True)
                yield from _mutated(test)
        elif isinstance(node, ast.keyword):
            yield from _mutated(node.value)


def _replacements(e: ast.expr) -> Iterator[ast.expr]:
    match e:
        case ast.Compare(left, [op], [right]):
            yield _bracketed(ast.Compare(left, [COMPARED[type(op)]], [right]))
        case ast.BoolOp(op, values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield _bracketed(ast.BoolOp(other, values))
        case ast.UnaryOp(ast.Not() | ast.USub(), x):
            yield _bracketed(x)
        case ast.BinOp(left, op, right) if type(op) in COMPUTED:
            yield _bracketed(ast.BinOp(left, COMPUTED[type(op)], right))
        case ast.IfExp(test, yes, no):
            yield _bracketed(ast.IfExp(test, no, yes))
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Call(ast.Name(name), arguments, keywords) if name in FUNCTIONS:
            yield ast.Call(ast.Name(FUNCTIONS[name]), arguments, keywords)
        case ast.Call(ast.Name("isinstance")):
            return
        case ast.Call(function, [first, second], []) if ast.dump(first) != ast.dump(second):
            if not any(isinstance(a, ast.Starred) for a in (first, second)):
                yield ast.Call(function, [second, first], [])


def _bracketed(e: ast.expr) -> ast.expr:
    """The expression e in brackets, so that it can stand in place of any expression."""
    return ast.Name(f"({ast.unparse(e)})")


def _is_none(e: ast.expr | None) -> bool:
    return isinstance(e, ast.Constant) and e.value is None
