"""The functions on indices that `reorder` takes, evaluated on whole numbers without bounds, as
addresses are."""

# key: e term, i index

from collections.abc import Mapping

from codegen.index.index import Index, constant, maximum, minimum
from codegen.tree.array_axes import number
from ir.core.nodes import Binary, Expr, Lam, Let, Lit, Pattern, SizeOf, Unary, Var
from ir.errors import Unsupported
from ir.text.show import show


def index_at(f: Lam, i: Index) -> Index:
    """The index f(i), for a function f of nothing but its index."""
    return _index(f.body, _bound({}, f.pattern, i))


def _bound(env: Mapping[str, Index], p: Pattern, i: Index) -> Mapping[str, Index]:
    if not isinstance(p, Var):
        raise _unknown(f"a pattern of {len(p)} parts")
    return {**env, p.name: i}


def _index(e: Expr, env: Mapping[str, Index]) -> Index:
    match e:
        case Var(name, _) if name in env:
            return env[name]
        case Lit(int() as n, _):
            return constant(n)
        case SizeOf(n):
            return constant(number(n))
        case Unary("neg", a):
            return -_index(a, env)
        case Unary("abs", a):
            x = _index(a, env)
            return maximum(x, -x)
        case Let(p, given, body):
            return _index(body, _bound(env, p, _index(given, env)))
        case Binary(op, a, b):
            found = arithmetic(op, _index(a, env), _index(b, env))
            if found is not None:
                return found
    raise _unknown(f"{' '.join(show(e).split()):.80}")


def _unknown(found: str) -> Unsupported:
    return Unsupported(
        f"reorder: expected an index function of arithmetic on known sizes, found {found}"
    )


def arithmetic(op: str, x: Index, y: Index) -> Index | None:
    """The index x op y on whole numbers without bounds; None for an operation that indices do not
    have."""
    match op:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "max":
            return maximum(x, y)
        case "min":
            return minimum(x, y)
        case "/" if y.is_constant and y.constant > 0:
            return x // y
        case "%" if y.is_constant and y.constant > 0:
            return x % y
    return None
