"""Chunks of narrow numbers that a loop copies to local memory as wider ones, once for all that is
made of them: a CPU converts vectors in the time of a load, and numbers one by one for each use
slower than it multiplies.

    map (chunk -> e)  =  mapSeq (chunk -> let wide = toLocal (map float chunk) in e'),

e reads chunk as floats only; and likewise with shorts, if e multiplies and adds bytes as ints.
"""

# key: e term, s strategy, t type

from ir.core.nodes import Expr, Map
from ir.core.terms import variables
from ir.core.type_rules import type_of
from ir.core.types import Array, Scalar, Type, depth
from rewrites.engine.places import of_rest, of_value
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, choice, seq
from rewrites.kernels.work_group import flattened
from rewrites.laws.functions_of_elements import map_after_view
from rewrites.laws.lets import let_view
from rewrites.laws.lower import share, to_local, to_seq
from rewrites.laws.vectors import vectorize_map
from rewrites.nest.spine import body, inside
from rewrites.number_laws.widening import float_once, short_once

VECTOR = 16  # numbers that are converted at once: the widest vectors there are


def widened_in_turns(s: Strategy) -> Strategy:
    """The strategy that turns a map over chunks of numbers into a loop, not unrolled, which widens
    a chunk and then does what the strategy s makes of the map's body. Refused if a chunk is not of
    narrow numbers that can be widened."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Map):
            return None
        step = s
        for chunk in reversed([x for x in variables(e.f.pattern) if _of_numbers(x.type)]):
            widen = stage("a chunk made wider, once", seq(share(term=chunk, name="wide"), _wider))
            step = seq(widen, of_rest(step), attempt(let_view()))
        return seq(body(step), to_seq())(e)

    return inside(run)


def _of_numbers(t: Type) -> bool:
    """True if t is an array of single numbers."""
    return isinstance(t, Array) and (isinstance(t.elem, Scalar) or _of_numbers(t.elem))


def _wider(e: Expr) -> Rewritten | None:
    """The let e of narrow numbers as a let of wider ones, copied to local memory in vectors."""
    return seq(choice(float_once(), short_once(), _refused), of_value(_copied))(e)


def _refused(e: Expr) -> Rewritten | None:
    raise Refused(
        "expected narrow numbers that are read as floats, or bytes that are multiplied as ints, so "
        f"that a chunk of them is made wider once; found {shown(e)}"
    )


def _copied(e: Expr) -> Rewritten | None:
    """The array e of converted numbers in local memory, made by a loop over vectors."""
    vectors = seq(map_after_view(), vectorize_map(v=VECTOR), inside(to_seq()))
    return flattened(depth(type_of(e)), seq(vectors, to_local()))(e)
