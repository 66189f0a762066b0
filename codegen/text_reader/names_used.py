"""The names of variables and arrays that expressions of a text read."""

# key: e expression

from collections.abc import Iterator

from codegen.text_reader.c_syntax import (
    Assign,
    Call,
    Cast,
    CExpr,
    Choice,
    CStatement,
    Element,
    Infix,
    Lanes,
    Name,
    Negative,
    Pointed,
    Pointer,
    Real,
    Registers,
    StoreVector,
    Target,
    Whole,
)


def names_in(e: CExpr) -> Iterator[str]:
    """The names that an expression reads, in the order of the text: those of variables and of
    arrays whose elements it reads."""
    match e:
        case Name(name):
            yield name
        case Element(array, index):
            yield array
            yield from names_in(index)
        case Pointed(_, _, element):
            yield from names_in(element)
        case Pointer(to):
            yield from names_in(to)
        case Lanes(inner) | Negative(inner):
            yield from names_in(inner)
        case Cast(_, parts) | Call(_, parts):
            for part in parts:
                yield from names_in(part)
        case Infix(_, left, right):
            yield from names_in(left)
            yield from names_in(right)
        case Choice(test, a, b):
            for part in (test, a, b):
                yield from names_in(part)
        case Whole() | Real():
            return


def written(target: Target) -> str:
    """The name of the variable or array that an assignment to a target writes."""
    match target:
        case Name(name):
            return name
        case Element(array, _):
            return array
        case Pointed(_, _, element):
            return element.array
        case Lanes(inner):
            return next(names_in(inner))


def read_and_written(s: CStatement) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that an assignment or a declaration s reads, and those that it writes."""
    read, to = list[str](), list[str]()
    match s:
        case Registers(_, names, _):
            for name, value in names:
                read += [] if value is None else names_in(value)
                to.append(name)
        case Assign(targets, value, _):
            read += names_in(value)
            to += map(written, targets)
        case StoreVector(_, _, value, offset, pointer, _):
            for e in (value, offset, pointer):
                read += names_in(e)
    return tuple(dict.fromkeys(read)), tuple(dict.fromkeys(to))
