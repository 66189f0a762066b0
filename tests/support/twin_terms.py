"""Random terms of whole numbers, each written twice: with ints, and with longs in place of ints,
which hold all that a proved program computes, and more."""

# key: r random generator, names those of accumulators

import re
from dataclasses import dataclass
from random import Random

import numpy as np

from ir.core.nodes import Program
from ir.core.types import RANGES
from ir.meaning.inputs import STORED, Numbers
from ir.parse import parse

INPUTS = {"x": "char", "y": "uchar", "z": "short", "w": "ushort"}
PLACES = 60
NARROW = ("char", "uchar", "short", "ushort")
SATURATING = ("char_sat", "uchar_sat", "short_sat", "ushort_sat")
UNARY = ("(-{})", "abs({})", "({} >> 3)", "({} << 2)", "({} / 3)", "({} % 100)", "({} & 255)")
BINARY = ("({} + {})", "({} - {})", "({} * {})", "max({}, {})", "min({}, {})", "({} | {})")
STEPS = (  # of a reduction with the accumulator a and another term
    *(
        "a + {}",
        "a - {}",
        "max(a, {})",
        "max(a + {}, 0)",
        "min(max(a + {}, -99), 99)",
        "a * 2 + {}",
    ),
    *("(a * 3 + {}) / 4", "select(a > 99, a - {}, a + 3)", "a * {}", "(a & 4095) + {}", "{} - a"),
    *("max(a + {}, a - 7)", "select({} > 3, 5, a)"),
)


@dataclass(frozen=True, slots=True)
class Twins:
    """A term as text, with ints and with longs."""

    ints: str
    longs: str


def filled(form: str, *parts: Twins) -> Twins:
    """The term of this form with these terms in it."""
    return Twins(form.format(*(p.ints for p in parts)), form.format(*(p.longs for p in parts)))


def drawn(r: Random, depth: int, names: tuple[str, ...] = ()) -> Twins:
    """A random term, nested up to `depth`, of the inputs x, y, z, w, their rows, and
    accumulators."""
    if depth == 0:
        return _leaf(r, names)
    a, b = drawn(r, depth - 1, names), drawn(r, r.randrange(depth), names)
    match r.randrange(10):
        case 0 | 1:
            return filled(r.choice(UNARY), a)
        case 2:
            to = r.choice((*NARROW, *SATURATING))
            return Twins(f"{to}({a.ints})", f"long({to}({a.longs}))")
        case 3 | 4:
            return _reduction(r, depth, names)
        case 5:
            return filled("select({} < {}, {}, {})", b, _leaf(r, names), a, _leaf(r, names))
        case _:
            return filled(r.choice(BINARY), *r.sample((a, b), 2))


def _leaf(r: Random, names: tuple[str, ...]) -> Twins:
    if names and r.random() < 0.3:
        name = r.choice(names)
        return Twins(name, name)
    if r.random() < 0.2:
        n = r.choice((0, 1, 3, 7, 100, 1000))
        return Twins(str(n), f"{n}L")
    name = r.choice(tuple(INPUTS))
    return Twins(name, f"long({name})")


def _reduction(r: Random, depth: int, names: tuple[str, ...]) -> Twins:
    """A random reduction of the row of one of the inputs, in ints or, sometimes, in a narrow
    type."""
    row, acc = r.choice(tuple(INPUTS)), f"a{r.randrange(10**6)}"
    inner = drawn(r, depth - 1, (*names, acc) if r.random() < 0.4 else names)
    turn = filled(r.choice(STEPS), filled("({} + {})", inner, Twins("t", "long(t)")))
    turn = Twins(named(turn.ints, "a", acc), named(turn.longs, "a", acc))
    start = r.choice(("0", "1", "50"))
    if r.random() < 0.25:
        to, suffix = r.choice((("short", "s"), ("char_sat", "c"), ("uchar", "uc")))
        begin = f"reduce({start}{suffix}, ({acc}, t) ->"
        widened = named(turn.longs, acc, f"long({acc})")
        return Twins(
            f"{begin} {to}({turn.ints}), {row}s)", f"long({begin} {to}({widened}), {row}s))"
        )
    return Twins(
        f"reduce({start}, ({acc}, t) -> {turn.ints}, {row}s)",
        f"reduce({start}L, ({acc}, t) -> {turn.longs}, {row}s)",
    )


def named(text: str, old: str, new: str) -> str:
    """The text with `new` in place of the name `old`."""
    return re.sub(rf"\b{old}\b", new, text)


def program(text: str, n: int) -> Program:
    """The program that computes the term `text` at each place, of numbers and of rows of n."""
    params = (f"{k}0 : [{t}]{PLACES}, {k}1 : [[{t}]{n}]{PLACES}" for k, t in INPUTS.items())
    names, rows = (f"{k}, {k}s" for k in INPUTS), (f"{k}0, {k}1" for k in INPUTS)
    body = f"map(({', '.join(names)}) -> {text}, zip({', '.join(rows)}))"
    return parse(f"f({', '.join(params)}) =\n  {body}")


def extremes(r: Random, n: int) -> dict[str, Numbers]:
    """Inputs of such a program: the least and largest numbers of each type, and a few others, alike
    along some rows."""
    rng, found = np.random.default_rng(r.randrange(2**32)), dict[str, Numbers]()
    for name, t in INPUTS.items():
        ends = np.array([*RANGES[t] * 2, 0, 1], STORED[t])
        alike, mixed = rng.choice(ends, (PLACES, 1)), rng.choice(ends, (PLACES, n))
        found[f"{name}0"] = rng.choice(ends, PLACES)
        found[f"{name}1"] = np.where(rng.random((PLACES, 1)) < 0.5, alike, mixed)
    return found
