"""The identity of a program, which does not depend on names: its shape, its sizes, and how often
each node occurs."""

# key: e term, p pattern

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ir.core.frozen import frozen
from ir.core.instruction import Instruction
from ir.core.nodes import Expr, Get, Lam, Let, Lit, Pattern, Program, Var
from ir.core.terms import fields_of, variables
from ir.core.types import Array, Scalar, Tuple, Vector


@frozen
class Identity:
    """The identity of a program: `shape` is a hash of the typed program without names and sizes,
    `sizes` are the numbers in it in their order, and `kinds` counts its nodes."""

    shape: str
    sizes: tuple[int, ...]
    kinds: Mapping[str, int]


@dataclass(slots=True)
class _Reader:
    """A reader of programs for their identity: it collects the sizes and counts the nodes that it
    has met so far."""

    sizes: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    def told(self, value: Any, bound: Mapping[str, int]) -> Any:
        """A value (a term, a part of one, or a tuple of them) as JSON without names and sizes;
        `bound` numbers the variables in scope."""
        match value:
            case Var(name, _):
                return ["var", bound[name]]
            case Lit(number, scalar):
                return ["lit", repr(number), scalar.name]
            case Get(index, e):
                return ["get", index, self.told(e, bound)]
            case Lam(p, body):
                return ["lam", _form(p), self.told(body, _with(p, bound))]
            case Let(p, e, body):
                return ["let", _form(p), self.told(e, bound), self.told(body, _with(p, bound))]
            case Expr():
                return self._node(value, bound)
            case tuple():
                return [self.told(part, bound) for part in value]
            case Enum() | Instruction():
                return value.name
            case bool() | str():
                return value
            case int():
                self.sizes.append(value)
                return "size"
        raise AssertionError(f"expected a program of numbers, found {type(value).__name__}")

    def _node(self, e: Expr, bound: Mapping[str, int]) -> Any:
        """A node as JSON: its name and its fields. It is counted under its name, with its operation
        if it has one: sums apart from products."""
        name = type(e).__name__
        self.kinds[f"{name} {getattr(e, 'op', '')}".strip()] += 1
        return [name, *(self.told(getattr(e, part), bound) for part in fields_of(e))]

    def type(self, t: object) -> Any:
        """A type as JSON without its sizes."""
        match t:
            case Scalar(name):
                return name
            case Vector(scalar, n):
                return [self.type(scalar), self.told(n, {})]
            case Array(elem, n):
                return [self.told(n, {}), self.type(elem)]
            case Tuple(parts):
                return ["tuple", *map(self.type, parts)]
        raise AssertionError(f"expected a type, found {t!r}")


def identity_of(program: Program) -> Identity:
    """The identity of a program whose sizes are numbers. Programs that differ only in names have
    the same identity; programs that differ only in names and sizes have the same shape."""
    reader = _Reader()
    params = [[param.const, reader.type(param.var.type)] for param in program.params]
    bound = {param.var.name: number for number, param in enumerate(program.params)}
    text = json.dumps([params, reader.told(program.body, bound)])
    shape = hashlib.sha256(text.encode()).hexdigest()
    return Identity(shape, tuple(reader.sizes), dict(sorted(reader.kinds.items())))


def _with(p: Pattern, bound: Mapping[str, int]) -> Mapping[str, int]:
    """The numbers of all variables, by name, that are in scope where a pattern has bound its own:
    those in `bound`, and new numbers for the pattern's, which hide others of the same names."""
    depth = max(bound.values(), default=-1) + 1
    return {**bound, **{v.name: depth + i for i, v in enumerate(variables(p))}}


def _form(p: Pattern) -> Any:
    """The pattern without names: a dot for a variable, a list for a tuple."""
    return "." if isinstance(p, Var) else list(_forms(p))


def _forms(p: tuple[Pattern, ...]) -> Iterator[Any]:
    return (_form(part) for part in p)
