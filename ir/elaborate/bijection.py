"""The index functions of `reorder`: `stride`, and the proof that a function is a bijection on 0 …
n-1."""

import numpy as np
from numpy.typing import NDArray

from ir.core.nodes import Binary, Expr, Lam, Let, Lit, SizeOf, Unary, Var
from ir.core.size import Size, exact, same
from ir.core.types import INT
from ir.errors import IllTyped, Unsupported
from ir.text.show import show
from ir.text.spell import show_pattern

LARGEST = 10**7
SHOWN = 60  # characters of a term in a message

Ints = NDArray[np.int64]


def stride(s: Size, n: Size) -> Lam:
    """The function i -> i / m + s * (i % m), where m = n / s."""
    m = exact(n, s)
    i = Var("i", INT)
    return Lam(
        i, Binary("+", Binary("/", i, _int(m)), Binary("*", _int(s), Binary("%", i, _int(m))))
    )


def crossed(n: int, by: int, every: int = 1) -> Lam:
    """The function from place j of row i, in rows of n, a power of two, to the place in that row
    whose binary digits are those of j and of by · (i / every) added without carries: so many rows
    behind each other are alike. It undoes itself."""
    i = Var("i", INT)
    row = Binary("/", i, _int(n))
    alike = row if every == 1 else Binary("/", row, _int(every))
    place: Expr = Binary("*", row, _int(n))
    for digit in (1 << k for k in range(n.bit_length() - 1)):
        theirs = Binary("/", Binary("*", _int(by), alike), _int(digit))
        added = Binary("%", Binary("+", Binary("/", i, _int(digit)), theirs), _int(2))
        place = Binary("+", place, Binary("*", _int(digit), added))
    return Lam(i, place)


def _text(e: Expr) -> str:
    """The term e as a message shows it: its text on one line, cut after `SHOWN` characters."""
    text = " ".join(show(e).split())
    return f"`{text if len(text) <= SHOWN else text[: SHOWN - 2] + ' …'}`"


def _int(n: Size) -> Expr:
    return Lit(n, INT) if isinstance(n, int) else SizeOf(n)


def check_bijection(f: Lam, n: Size) -> None:
    """Raise IllTyped if f is no bijection on 0 … n-1, Unsupported if that cannot be decided."""
    if _is_stride(f, n):
        return
    if not isinstance(n, int):
        raise Unsupported(
            "reorder of an array whose size has parameters: expected stride(s), found the index "
            f"function {_text(f)}"
        )
    if n > LARGEST:
        raise Unsupported(
            f"reorder: expected stride(s), or at most {LARGEST:,} elements, for which a function "
            f"is checked to be a bijection; found {n:,} elements"
        )
    if not isinstance(f.pattern, Var):
        raise IllTyped(f"expected a function of one index, found one of {show_pattern(f.pattern)}")
    out = np.broadcast_to(_run(f.body, {f.pattern.name: np.arange(n)}), (n,))
    outside = (out < 0) | (out >= n)
    if outside.any():
        i = int(outside.argmax())
        raise IllTyped(f"expected a bijection on 0…{n - 1}, but this takes {i} to {out[i]}")
    counts = np.bincount(out, minlength=n)
    if (counts != 1).any():
        k = int((counts > 1).argmax())
        i, j = np.flatnonzero(out == k)[:2]
        raise IllTyped(f"expected a bijection on 0…{n - 1}, but this takes both {i} and {j} to {k}")


def _is_stride(f: Lam, n: Size) -> bool:
    match f:
        case Lam(
            Var(i, _),
            Binary(
                "+",
                Binary("/", Var(i1, _), m),
                Binary("*", s, Binary("%", Var(i2, _), m1)),
            ),
        ) if i == i1 == i2 and m == m1:
            a, b = _size(s), _size(m)
            return a is not None and b is not None and same(a * b, n)
    return False


def _size(e: Expr) -> Size | None:
    match e:
        case Lit(int() as n, _) | SizeOf(n):
            return n
    return None


def _run(e: Expr, env: dict[str, Ints]) -> Ints:
    match e:
        case Var(name, _) if name in env:
            return env[name]
        case Lit(int() as n, _) | SizeOf(int() as n):
            return np.asarray(n, np.int64)
        case Unary("neg", a):
            return -_run(a, env)
        case Unary("abs", a):
            return np.abs(_run(a, env))
        case Binary(op, a, b):
            return _operate(op, _run(a, env), _run(b, env))
        case Let(Var(name, _), value, body):
            return _run(body, env | {name: _run(value, env)})
    raise Unsupported(
        "reorder: expected an index function of its index, sizes and integers, found "
        f"{_text(e)} in it"
    )


def _operate(op: str, a: Ints, b: Ints) -> Ints:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "max":
            return np.maximum(a, b)
        case "min":
            return np.minimum(a, b)
    if op not in "/%":
        raise Unsupported(
            f"reorder: expected only + - * / % max min in the index function, found `{op}`"
        )
    if not np.all(b):
        raise IllTyped(f"`{op}` divides by 0")
    return a // b if op == "/" else a % b
