"""The amounts of work in a program: products, results, and in how many windows an input element
is."""

# key: e term, w window

from fractions import Fraction
from math import prod

from ir.core.frozen import frozen
from ir.core.nodes import Binary, Expr, Param, Program, Reduce, Slide, Store, Var
from ir.core.size import Size
from ir.core.terms import free_variables, over, subterms
from ir.core.type_rules import size_of, type_of
from ir.core.types import Scalar
from ir.dependence.needed_elements import dependence
from rewrites.engine.refused import Refused
from rewrites.engine.strategy import seq
from rewrites.nest.dimensions import classify, reduction, roots
from rewrites.nest.normal_form import normalise
from rewrites.nest.spine import core, nest, store_operands


@frozen
class Window:
    """The windows of a slide: their size, their step, and how many there are."""

    size: int
    step: int
    count: int

    @property
    def reuse(self) -> Fraction:
        """The number of windows that an element is in, on average: the size over the step, but 1 at
        least, and no more than there are windows."""
        return min(max(Fraction(1), Fraction(self.size, self.step)), Fraction(self.count))


@frozen
class Amounts:
    """The amounts of work in a program that is one sum of products of two operands, in which no two
    results share both operands.

    `products`, `results` and `windows` are those of the program, whose normal form is `nest`;
    `others` counts the elements that results need besides their sums, such as biases, and `beside`
    how many of these one result needs.
    """

    products: int
    results: int
    windows: tuple[Window, ...]
    nest: Expr  # the program's body, normalised
    others: int  # elements that results need besides their sums: biases, what is added to them
    beside: int  # how many of these a result needs

    @property
    def reuse(self) -> Fraction:
        """The number R of windows that an element of the input is in (Zhang et al., PPoPP 2021)."""
        return prod((w.reuse for w in self.windows), start=Fraction(1))


def amounts(e: Expr, params: frozenset[str]) -> Amounts | None:
    """The amounts of work of a program that is one nest around one sum, all its sizes known; else
    None. `params` are the names of the program's parameters."""
    done = seq(normalise, store_operands(params))(e)
    e = e if done is None else done[0]
    if any(isinstance(sub, Store) for sub in subterms(e)):
        return None
    try:
        dims = classify(e)
    except Refused:
        return None
    if not dims.rows or not dims.columns:
        return None
    maps = nest(e)
    results = [size_of(m.xs) for m in maps]
    slides = [s for m in maps for s in subterms(m.xs) if isinstance(s, Slide)]
    sizes = _known([*results, *_trips(reduction(e))])
    windows = [_known([s.size, s.step, size_of(s)]) for s in slides]
    if sizes is None or None in windows:
        return None
    made = tuple(Window(*w) for w in windows if w is not None)
    others, beside = _others(e)
    return Amounts(prod(sizes), prod(sizes[: len(results)]), made, e, others, beside)


def _others(e: Expr) -> tuple[int, int]:
    """The numbers of elements that a nest needs besides the operands of its sum: in all, and for
    each result."""
    r = reduction(e)
    products = Var("its products", type_of(r))  # no name of the program's
    number = isinstance(products.type, Scalar)
    rest = _with(e, r, Binary("+", r.init, products) if number else r.init)
    inputs = tuple(map(Param, free_variables(rest).values()))
    read = dependence(Program("others", inputs, rest)).read
    beside = set(roots(core(rest))) - {products}
    return sum(read.values()) - read.get(products.name, 0), len(beside)


def _with(e: Expr, r: Reduce, new: Expr) -> Expr:
    """The term e with `new` in place of the sum r."""
    return new if e is r else over(lambda c: _with(c, r, new), e)


def _known(sizes: list[Size]) -> list[int] | None:
    found = [n for n in sizes if isinstance(n, int)]
    return found if len(found) == len(sizes) else None


def _trips(e: Expr) -> list[Size]:
    return [size_of(e.xs), *_trips(e.f.body)] if isinstance(e, Reduce) else []
