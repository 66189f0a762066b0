"""The dependence of a program's results: the input elements that matter, and the products that are
not with zeros.

A product with a zero from padding is no work, and an element that only such products use need
not be read. The analysis goes twice through the program: forwards, it finds for each array the
elements that depend on an input and those that may be other than zero; backwards, from the
results, the elements that are needed. Maps are axes, as in the interpreter. The counts are lower
bounds: a reduction that is no fold of `+ - max min`, and nodes that only lowered programs have,
need nothing.
"""

# key: e term, f function, n size, m mask

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from ir.core.conversions import CONVERSIONS
from ir.core.frozen import frozen
from ir.core.nodes import (
    At,
    Binary,
    Concat,
    Expr,
    Generate,
    Get,
    Join,
    Lam,
    Let,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    Program,
    Reduce,
    ReduceSeq,
    Reorder,
    Select,
    SizeOf,
    Slide,
    Split,
    Store,
    ToLocal,
    ToPrivate,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import free, subterms, variables
from ir.core.type_rules import pattern_type, type_of
from ir.core.types import Array, Tuple, Type
from ir.dependence.marked_arrays import (
    Env,
    Node,
    Pull,
    Tape,
    Unknown,
    Value,
    each,
    indices,
    leaves,
    moved,
    the_same,
)
from ir.dependence.marked_views import beside, edge_padded, padded, rearranged, reordered
from ir.dependence.masks import EVERY, NONE, Mask, anywhere, both, count, either, everywhere, line
from ir.meaning.inputs import known
from ir.meaning.named_axes import Axis

KEEP_ZERO = frozenset({"neg", "abs", "sqrt", "tanh", *CONVERSIONS})
ADD = frozenset({"+", "-", "max", "min"})


@frozen
class Dependence:
    """The numbers of input elements (`read`, by parameter) that results depend on, of products
    without zeros, and of whole sums.

    Products are those of innermost sums; in a whole sum no product is with a zero.
    """

    read: Mapping[str, int]
    products: int
    whole_sums: int


def dependence(program: Program) -> Dependence:
    """The numbers of input elements that the results of a program depend on, of its products
    without zeros, and of its whole sums; all sizes must be numbers."""
    tape = Tape()
    env = Env({}, frozenset(), frozenset(), tape)
    given = {p.var.name: _input(p.var.type, p.const, env) for p in program.params}
    for leaf in leaves(_made(program.body, replace(env, values=given))):
        leaf.ask(EVERY)
    for node in reversed(tape.nodes):
        for source, pull in node.pulls:
            if node.asked is not NONE:
                source.ask(pull(node.asked))
    read = {
        name: sum(count(leaf.asked, leaf.dims) for leaf in leaves(value))
        for name, value in given.items()
    }
    return Dependence(read, tape.products, tape.whole_sums)


def _input(t: Type, const: bool, env: Env) -> Value:
    return _fresh(t, (), lambda dims: Node(dims, env.scope, EVERY, EVERY, const), env)


def _nothing(t: Type, env: Env) -> Value:
    """A value of type t of which nothing is known: no element is marked as one that depends on an
    input, or as one that may be other than zero."""
    return _fresh(t, (), lambda dims: Node(dims, env.scope, NONE, NONE, False), env)


def _fresh(
    t: Type, dims: tuple[Axis, ...], made: Callable[[tuple[Axis, ...]], Node], env: Env
) -> Value:
    match t:
        case Tuple(parts):
            return tuple(_fresh(part, dims, made, env) for part in parts)
        case Array(elem, n):
            return _fresh(elem, (*dims, Axis(known(n))), made, env)
    return env.tape.add(made(dims))


# ---- terms


def _made(e: Expr, env: Env) -> Value:
    try:
        return _value(e, env)
    except Unknown:
        return _nothing(type_of(e), env)


def _value(e: Expr, env: Env) -> Value:
    match e:
        case Var(name):
            return env.values[name]
        case Lit(number):
            return _constant(EVERY if number else NONE, (), env)
        case SizeOf():
            return _constant(EVERY, (), env)
        case Unary(op, a):
            return _unary(op, _scalar(a, env), env)
        case Binary(op, a, b):
            return _binary(op, _scalar(a, env), _scalar(b, env), env)
        case Select(c, a, b):
            return _select(_scalar(c, env), _scalar(a, env), _scalar(b, env), env)
        case MakeTuple(parts) | Zip(parts):
            return tuple(_made(part, env) for part in parts)
        case Get(i, a):
            found = _made(a, env)
            assert isinstance(found, tuple)
            return found[i]
        case Let(p, a, body):
            return _made(body, env.bind(p, _made(a, env)))
        case Store(a) | ToLocal(a) | ToPrivate(a):
            return _made(a, env)
        case Map(f, xs) | MapPar(_, _, f, xs) | MapSeq(f, xs):
            return _map(f, _made(xs, env), env)
        case Generate(n, f):
            axis = Axis(known(n))
            index = _constant(line(indices(0, axis.size) != 0, axis), (axis,), env)
            return _map(f, index, env)
        case Reduce(init, f, xs) | ReduceSeq(init, f, xs):
            return _reduce(f, _made(init, env), _made(xs, env), env)
        case MakeArray(parts):
            return beside([_made(part, env) for part in parts], 0, env)
        case Concat(a, b):
            return beside([_made(a, env), _made(b, env)], 1, env)
    return _view(e, env)


def _constant(nonzero: Mask, dims: tuple[Axis, ...], env: Env) -> Node:
    return env.tape.add(Node(dims, env.scope, NONE, nonzero, True))


def _scalar(e: Expr, env: Env) -> Node:
    found = _made(e, env)
    if not isinstance(found, Node) or found.dims:
        raise Unknown
    return found


def _unary(op: str, a: Node, env: Env) -> Node:
    if a.sum is not None:
        raise Unknown
    nonzero = a.nonzero if op in KEEP_ZERO else a.live
    pulls = () if a.fixed else ((a, the_same),)
    return env.tape.add(Node((), env.scope, a.live, nonzero, a.fixed, None, pulls))


def _binary(op: str, a: Node, b: Node, env: Env) -> Node:
    if not {a.sum, b.sum} == {None} and (op not in ADD or None not in (a.sum, b.sum)):
        raise Unknown
    left: Pull = the_same
    right: Pull = the_same
    live = either(a.live, b.live)
    match op:
        case "*":
            live = either(both(a.live, b.nonzero), both(a.nonzero, b.live))
            nonzero = both(a.nonzero, b.nonzero)
            left, right = (lambda m: both(m, b.nonzero)), (lambda m: both(m, a.nonzero))
        case "/":
            live = either(a.live, both(a.nonzero, b.live))
            nonzero, right = a.nonzero, lambda m: both(m, a.nonzero)
        case _:
            nonzero = _of_either(op, a, b, live)
    fixed = a.fixed and b.fixed
    pulls = () if fixed else ((a, left), (b, right))
    whose = a.sum if b.sum is None else b.sum
    return env.tape.add(Node((), env.scope, live, nonzero, fixed, whose, pulls))


def _select(c: Node, a: Node, b: Node, env: Env) -> Node:
    """The node of the choice between a and b. Its condition is needed; a and b do not count as
    needed, since only one of them is."""
    if {c.sum, a.sum, b.sum} != {None}:
        raise Unknown
    fixed = c.fixed and a.fixed and b.fixed
    pulls = () if fixed else ((c, the_same),)
    return env.tape.add(Node((), env.scope, c.live, c.live, fixed, None, pulls))


def _of_either(op: str, a: Node, b: Node, live: Mask) -> Mask:
    """The mask of the elements of `a op b` that may be other than zero; `live` are those that
    depend on inputs. Constants may cancel each other, but not where one operand is all zeros."""
    if op in ("+", "-") and (a.nonzero is NONE or b.nonzero is NONE):
        return either(a.nonzero, b.nonzero)
    return live


# ---- functions


def _entered(value: Value, axis: Axis, env: Env) -> Value:
    """The elements of an array along `axis`, all at once, as one value for the body of a map."""

    def element(node: Node) -> Node:
        return moved(node, node.dims[:1], (axis,), node.dims[1:], env)

    return each(element, value)


def _map(f: Lam, xs: Value, env: Env) -> Value:
    axis = Axis(leaves(xs)[0].dims[0].size)
    inner = env.inside(axis)
    made = _made(f.body, inner.bind(f.pattern, _entered(xs, axis, inner)))
    return each(lambda node: moved(node, (), (), (axis, *node.dims), env), made)


def _reduce(f: Lam, init: Value, xs: Value, env: Env) -> Value:
    assert isinstance(f.pattern, tuple)
    acc, element = f.pattern
    axis = Axis(leaves(xs)[0].dims[0].size)
    inner = replace(env.inside(axis), summed=env.summed | {axis})
    start = _fresh(pattern_type(acc), (), partial(_empty, inner), inner)
    inner = inner.bind(acc, start).bind(element, _entered(xs, axis, inner))
    out = _made(f.body, inner)
    if [n.sum for n in leaves(out)] != [n.sum for n in leaves(start)]:
        raise Unknown
    _count_products(f, out, inner)
    return _total(init, out, axis, env)


def _empty(env: Env, dims: tuple[Axis, ...]) -> Node:
    """The accumulator, with dimensions `dims`, of a sum to which nothing has been added."""
    return Node(dims, env.scope, NONE, NONE, True, object())


def _total(init: Value, out: Value, axis: Axis, env: Env) -> Value:
    """The value of a sum: the initial value `init`, and `out`, what is added at the steps along
    `axis`."""
    if isinstance(out, tuple):
        starts = init if isinstance(init, tuple) else (init,) * len(out)
        return tuple(_total(i, o, axis, env) for i, o in zip(starts, out, strict=True))
    assert isinstance(init, Node)
    dims = tuple(Axis(d.size) for d in out.dims)
    a = moved(out, out.dims, dims, dims, env)
    z = moved(init, init.dims, dims[: len(init.dims)], dims, env)
    live = either(z.live, anywhere(a.live, [axis]))
    nonzero = z.nonzero if a.nonzero is NONE else live
    pulls = ((z, the_same), (a, the_same))
    fixed = z.fixed and a.fixed
    return env.tape.add(Node(dims, env.scope, live, nonzero, fixed, z.sum, () if fixed else pulls))


def _count_products(f: Lam, out: Value, env: Env) -> None:
    """Add the products of a sum, and its whole sums, to the record of the analysis, unless its
    function f has a reduction inside or works on arrays. `out` is what a step adds.

    A step counts as a product if all values that it uses depend on inputs and not all of them are
    constants.
    """
    assert isinstance(f.pattern, tuple)
    accumulators = {v.name for v in variables(f.pattern[0])}
    looked_at = [env.values[name] for name in sorted(free(f.body) - accumulators)]
    parts = [part for value in (out, *looked_at) for part in leaves(value)]
    inner = any(isinstance(sub, Reduce | ReduceSeq) for sub in subterms(f.body))
    if inner or any(part.dims for part in parts) or all(part.fixed for part in parts):
        return
    real = both(*(part.live for part in parts))
    env.tape.products += count(real, env.scope)
    env.tape.whole_sums += count(everywhere(real, env.summed), env.scope - env.summed)


# ---- views


def _view(e: Expr, env: Env) -> Value:
    match e:
        case Pad(l, r, value, xs):
            return padded(known(l), known(r), _made(value, env), _made(xs, env), env)
        case Reorder(f, xs):
            return reordered(f, _made(xs, env), env)
        case Transpose(xs) | Split(_, xs) | Join(xs) | Slide(_, _, xs) | At(_, xs):
            return each(lambda node: rearranged(e, node, env), _made(xs, env))
        case PadEdge(edge, l, r, xs):
            return each(
                lambda node: edge_padded(edge, known(l), known(r), node, env), _made(xs, env)
            )
    raise Unknown
