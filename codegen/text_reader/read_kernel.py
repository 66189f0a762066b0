"""The reader of statements and kernels, by recursive descent; what is never printed is not read."""

import re

from codegen.text_reader.c_syntax import (
    ArrayOf,
    Assign,
    AwaitCopies,
    AwaitProducts,
    Begin,
    Braces,
    Branches,
    CExpr,
    Counted,
    CStatement,
    Define,
    Element,
    Fence,
    Function,
    KernelText,
    Lanes,
    Name,
    Negative,
    Parameter,
    Pointed,
    Real,
    Registers,
    Settled,
    StoreVector,
    Target,
    Whole,
)
from codegen.text_reader.c_tokens import END, NotRead, Tokens
from codegen.text_reader.c_words import FENCES, KINDS, SPACES, WIDTHS
from codegen.text_reader.calls_beside import calls_beside
from codegen.text_reader.instruction_texts import taken_out
from codegen.text_reader.read_expressions import (
    arguments,
    expression,
    kind_of_token,
    unary,
)
from codegen.tree.kernel_values import Kind
from codegen.tree.memories import Space
from ir.instructions.local_writes import ORDERED_BARRIER
from ir.instructions.under_way import AWAIT_PRODUCTS, AWAIT_PRODUCTS_BUT, SETTLED

EXTENSIONS = frozenset({"#pragma OPENCL EXTENSION cl_khr_fp16 : enable"})
UNROLL = "#pragma unroll"
BARRIERS = {"barrier": False, ORDERED_BARRIER: True}  # and whether local writes are ordered before
_COPY = re.compile(r"COPY_(\d+)(?:_PAST)?(_OR_ZERO)?")
_STORE = re.compile(r"vstore(?:(\d+)|_half(\d*)_rte)")


def read_kernel(source: str) -> KernelText:
    """The syntax tree of a text: one kernel, with what stands before it; raises NotRead."""
    rest, instructions, several = taken_out(source)
    tokens = Tokens(rest)
    tokens.several = several
    while tokens.word in EXTENSIONS:
        tokens.take()
    functions = []
    while tokens.word in KINDS:
        functions.append(function(tokens))
    size, lanes = group_size(tokens), sub_group_size(tokens)
    tokens.expect("__kernel", "void")
    name = tokens.name()
    parameters = parameter_list(tokens)
    body = braces(tokens)
    if tokens.word != END:
        tokens.refuse("nothing after the kernel")
    lines = tuple(source.split("\n"))
    return KernelText(tuple(functions), instructions, name, size, lanes, parameters, body, lines)


def function(tokens: Tokens) -> Function:
    kind, name = kind_of_token(tokens), tokens.name()
    tokens.expect("(")
    parameters: list[tuple[str, Kind]] = []
    while not parameters or tokens.accept(","):
        parameter = kind_of_token(tokens)
        parameters.append((tokens.name(), parameter))
    tokens.expect(")", "{", "return")
    value = expression(tokens)
    tokens.expect(";", "}")
    return Function(name, kind, tuple(parameters), value)


def group_size(tokens: Tokens) -> tuple[int, ...]:
    tokens.expect("__attribute__", "(", "(", "reqd_work_group_size", "(")
    size = [tokens.number()]
    while tokens.accept(","):
        size.append(tokens.number())
    tokens.expect(")", ")", ")")
    return tuple(size)


def sub_group_size(tokens: Tokens) -> int | None:
    """The number of work-items that a text says form a sub-group; None if it does not say."""
    if not tokens.accept("SUB_GROUP_OF"):
        return None
    tokens.expect("(")
    lanes = tokens.number()
    tokens.expect(")")
    return lanes


def parameter_list(tokens: Tokens) -> tuple[Parameter, ...]:
    tokens.expect("(")
    found: list[Parameter] = []
    while not found or tokens.accept(","):
        tokens.expect("__global")
        const = tokens.accept("const")
        kind = kind_of_token(tokens)
        if kind.width != 1:
            tokens.refuse("a pointer to scalars before")
        tokens.expect("*", "restrict")
        found.append(Parameter(tokens.name(), kind.scalar, const))
    tokens.expect(")")
    return tuple(found)


# ---- statements


def braces(tokens: Tokens) -> Braces:
    tokens.expect("{")
    found = []
    while not tokens.accept("}"):
        found.append(statement(tokens))
    return Braces(tuple(found))


def statement(tokens: Tokens) -> CStatement:
    word = tokens.word
    if word == "{":
        return braces(tokens)
    if word == "const":
        return definition(tokens)
    if word in KINDS or word in SPACES:
        return declaration(tokens)
    if word == "if":
        return branches(tokens)
    if word in ("for", UNROLL):
        return loop(tokens)
    if word in BARRIERS:
        return fence(tokens)
    if _STORE.fullmatch(word):
        return vector_store(tokens)
    if _COPY.fullmatch(word):
        return copy_begun(tokens)
    if word in ("AWAIT_COPIES", "AWAIT_COPIES_BUT"):
        return copies_awaited(tokens)
    if word in (AWAIT_PRODUCTS, AWAIT_PRODUCTS_BUT, SETTLED):
        return products_awaited(tokens)
    if word in tokens.several:
        return calls_beside(tokens, *tokens.several[word])
    return assignment(tokens)


def definition(tokens: Tokens) -> Define:
    line = tokens.line
    tokens.expect("const")
    if tokens.word not in ("int", "long"):
        tokens.refuse("'int' or 'long'")
    scalar, name = tokens.take(), tokens.name()
    tokens.expect("=")
    value = expression(tokens)
    tokens.expect(";")
    return Define(name, scalar, value, line)


def declaration(tokens: Tokens) -> Registers | ArrayOf:
    line = tokens.line
    space = SPACES.get(tokens.word, Space.PRIVATE)
    if tokens.word in SPACES:
        tokens.take()
    kind = kind_of_token(tokens)
    if space is not Space.PRIVATE or tokens.ahead(1) == "[":
        return array(tokens, space, kind, line)
    names: list[tuple[str, CExpr | None]] = []
    while not names or tokens.accept(","):
        name = tokens.name()
        names.append((name, expression(tokens) if tokens.accept("=") else None))
    tokens.expect(";")
    return Registers(kind, tuple(names), line)


def array(tokens: Tokens, space: Space, kind: Kind, line: int) -> ArrayOf:
    name = tokens.name()
    tokens.expect("[")
    size, aligned = tokens.number(), 0
    tokens.expect("]")
    if space is Space.CONSTANT:
        table(tokens, size)
    elif tokens.accept("__attribute__"):
        tokens.expect("(", "(", "aligned", "(")
        aligned = tokens.number()
        tokens.expect(")", ")", ")")
    tokens.expect(";")
    return ArrayOf(space, kind, name, size, aligned, line)


def table(tokens: Tokens, size: int) -> None:
    """Read the values of a constant table, = {value, …}; NotRead unless they are `size` values."""
    tokens.expect("=", "{")
    found = 0
    while not found or tokens.accept(","):
        if not isinstance(number := unary(tokens), Whole | Real | Negative):
            tokens.refuse(f"a number before, not {type(number).__name__}")
        found += 1
    if found != size:
        tokens.refuse(f"{size} values of the table, not {found}, before")
    tokens.expect("}")


def branches(tokens: Tokens) -> Branches:
    line = tokens.line
    tokens.expect("if", "(")
    test = expression(tokens)
    tokens.expect(")")
    then, otherwise = braces(tokens), Braces(())
    if tokens.accept("else"):
        otherwise = Braces((branches(tokens),)) if tokens.word == "if" else braces(tokens)
    return Branches(test, then, otherwise, line)


def loop(tokens: Tokens) -> Counted:
    """The next statement, for (int name = 0, other = value; name < count; ++name, other += step)
    { … }, with any number of others."""
    tokens.accept(UNROLL)
    line = tokens.line
    tokens.expect("for", "(")
    if tokens.word not in ("int", "long"):
        tokens.refuse("'int' or 'long'")
    scalar, name = tokens.take(), tokens.name()
    tokens.expect("=", "0")
    walks: list[tuple[str, CExpr]] = []
    while tokens.accept(","):
        other = tokens.name()
        tokens.expect("=")
        walks.append((other, expression(tokens)))
    if walks and scalar != "int":
        tokens.refuse("'int' before")
    tokens.expect(";", name, "<")
    count = tokens.number()
    tokens.expect(";", "++", name)
    steps: list[tuple[str, int]] = []
    while tokens.accept(","):
        steps.append(step(tokens))
    tokens.expect(")")
    return Counted(name, scalar, count, braces(tokens), line, tuple(walks), tuple(steps))


def step(tokens: Tokens) -> tuple[str, int]:
    """The next expression, name += number or name -= number: the name and the number that is added
    to it."""
    name, op = tokens.name(), tokens.take()
    if op not in ("+=", "-="):
        tokens.refuse("'+=' or '-=' before")
    number = tokens.number()
    return name, number if op == "+=" else -number


def fence(tokens: Tokens) -> Fence:
    line, ordered = tokens.line, BARRIERS[tokens.take()]
    tokens.expect("(")
    spaces: set[Space] = set()
    while not spaces or tokens.accept("|"):
        space = FENCES.get(tokens.word)
        if space is None:
            tokens.refuse("a fence")
        tokens.take()
        spaces.add(space)
    tokens.expect(")", ";")
    return Fence(frozenset(spaces), line, ordered)


def vector_store(tokens: Tokens) -> StoreVector:
    """The next statement, vstoreN(value, offset, pointer); or vstore_halfN_rte."""
    line = tokens.line
    word = _STORE.fullmatch(tokens.take())
    assert word is not None
    halves = word[1] is None
    width = int(word[1] or word[2] or 1)
    found = arguments(tokens)
    if width not in (*WIDTHS, *([1] if halves else [])) or len(found) != 3:
        tokens.refuse("vstoreN(value, offset, pointer) before")
    tokens.expect(";")
    return StoreVector(width, halves, *found, line)


def copy_begun(tokens: Tokens) -> Begin:
    """The next statement, COPY_N(target, value); or COPY_N_OR_ZERO(target, test, value); or the
    same of COPY_N_PAST."""
    line = tokens.line
    word = _COPY.fullmatch(tokens.take())
    assert word is not None
    found = arguments(tokens)
    if len(found) != (3 if word[2] else 2):
        tokens.refuse("COPY_N(target, value) or COPY_N_OR_ZERO(target, test, value) before")
    tokens.expect(";")
    to = _target(found[0], line)
    return Begin(int(word[1]), to, found[1] if word[2] else None, found[-1], line)


def copies_awaited(tokens: Tokens) -> AwaitCopies:
    """The next statement, AWAIT_COPIES(); or AWAIT_COPIES_BUT(later); for a number of groups."""
    line, later = tokens.line, "0"
    if tokens.take() == "AWAIT_COPIES":
        tokens.expect("(")
    else:
        tokens.expect("(")
        later = tokens.take()
        if not later.isdecimal():
            tokens.refuse("a number of groups before")
    tokens.expect(")", ";")
    return AwaitCopies(int(later), line)


def products_awaited(tokens: Tokens) -> AwaitProducts | Settled:
    """The next statement, AWAIT_PRODUCTS(); or AWAIT_PRODUCTS_BUT(later); for a number of groups;
    or SETTLED(result);"""
    line, word = tokens.line, tokens.take()
    if word == AWAIT_PRODUCTS:
        tokens.expect("(", ")", ";")
        return AwaitProducts(0, line)
    if word == AWAIT_PRODUCTS_BUT:
        tokens.expect("(")
        later = tokens.number()
        tokens.expect(")", ";")
        return AwaitProducts(later, line)
    found = arguments(tokens)
    if len(found) != 1:
        tokens.refuse("SETTLED(result) before")
    tokens.expect(";")
    return Settled(_target(found[0], line), line)


def assignment(tokens: Tokens) -> Assign:
    """The next statement, target = target = … = value;"""
    line = tokens.line
    found = [expression(tokens)]
    while tokens.accept("="):
        found.append(expression(tokens))
    tokens.expect(";")
    targets = [_target(target, line) for target in found[:-1]]
    if not targets:
        raise NotRead(f"line {line}: expected an assignment, found an expression")
    return Assign(tuple(targets), found[-1], line)


def _target(e: CExpr, line: int) -> Target:
    """The expression e as the target of an assignment; NotRead if it is none."""
    if not isinstance(e, Name | Element | Pointed | Lanes):
        raise NotRead(
            f"line {line}: expected a name, an element of an array or lanes as the target of "
            f"an assignment, found {type(e).__name__}"
        )
    return e
