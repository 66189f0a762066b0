"""Nests whose rows are in groups, each with columns of its own, as in a grouped convolution: groups
and rows as one dimension."""

# key: e term

from math import prod

from ir.core.nodes import Expr
from ir.core.type_rules import size_of
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten
from rewrites.engine.stages import stage
from rewrites.engine.strategy import skip
from rewrites.kernels.register_block import weight
from rewrites.laws.interchange import collapse_beside
from rewrites.nest.dimensions import Dims, classify
from rewrites.nest.named_nest import arranged
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.spine import kernels, nest

LANES = 16  # of the widest vectors: so many rows of one group fill one


def in_groups(e: Expr) -> bool:
    """True if the kernel e makes rows in groups, each of which has too few for a vector."""
    return _grouped(e) is not None


def _grouped(e: Expr) -> Dims | None:
    """The dimensions of a kernel whose results have groups of few rows, and the rows innermost;
    None for another kernel."""
    try:
        dims = classify(e)
    except Refused:
        return None
    maps = nest(e)
    if dims.columns[-1:] == (len(maps) - 1,):
        dims = Dims(dims.batch, dims.columns, dims.rows)
    if not dims.batch or not dims.rows or dims.rows[-1] != len(maps) - 1:
        return None
    return dims if prod(weight(size_of(maps[d].xs)) for d in dims.rows) < LANES else None


def _merged(e: Expr) -> Rewritten | None:
    dims = _grouped(e)
    if dims is None:
        return skip(e)
    *batch, groups = dims.batch
    apart = arranged(batch=batch, columns=dims.columns, groups=(groups,), rows=dims.rows)
    return apart.merge("rows").at("groups", collapse_beside()).then(perfect, simplify)(e)


def _some_merged(e: Expr) -> Rewritten | None:
    done = kernels(_merged)(e)
    if done is not None and not done[1]:
        raise Refused(
            "expected results with groups of few rows, found none: with `groups`, vectors go over "
            "the rows of several groups"
        )
    return done


groups_as_one = stage("groups of rows as one", _some_merged)
"""The program with each kernel that makes groups of few rows made one of rows: the innermost
dimension of its batch and its rows become one dimension."""
