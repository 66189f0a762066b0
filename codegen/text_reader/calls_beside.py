"""The reader of one call that stands for several calls of an instruction: as these."""

# key: e expression

from dataclasses import replace

from codegen.text_reader.c_syntax import Assign, Braces, Call, CExpr, Infix, Name, Pointed, Whole
from codegen.text_reader.c_tokens import Tokens
from codegen.text_reader.read_expressions import arguments
from ir.core.instruction import Instruction


def calls_beside(tokens: Tokens, instruction: Instruction, count: int) -> Braces:
    """The next statement, name_count(operands, sums); as `count` assignments sum =
    name(operands, sum), each with the placed operand where that of the one before it ends."""
    line = tokens.line
    tokens.take()
    found = arguments(tokens)
    tokens.expect(";")
    (placed,) = instruction.placed
    given, sums = found[:-count], found[-count:]
    at, digits = placed.operand, placed.digits
    told = [e.value for e in given[at + 1 : at + 1 + len(digits)] if isinstance(e, Whole)]
    place = given[at] if at < len(given) else None
    if not isinstance(place, Pointed) or place.in_bytes or len(told) != len(digits):
        tokens.refuse("a place in an array, and distances that are numbers, before")
    apart = placed.beyond(told) * place.kind.width
    names = {to.name for to in sums if isinstance(to, Name)}
    if len(names) < count:
        tokens.refuse(f"the names of {count} sums before")
    calls = list[Assign]()
    for n, to in enumerate(sums):
        assert isinstance(to, Name)
        operands = (*given[:at], _further(place, n * apart), *given[at + 1 :])
        calls.append(Assign((to,), Call(instruction.name, (*operands, to)), line))
    return Braces(tuple(calls))


def _further(e: Pointed, numbers: int) -> CExpr:
    """What lies so many numbers behind the vector e, which is loaded from an array."""
    if not numbers:
        return e
    index = Infix("+", e.element.index, Whole(numbers, False))
    return replace(e, element=replace(e.element, index=index))
