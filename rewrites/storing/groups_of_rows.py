"""Nests whose rows are in groups, each with columns of its own, as in a grouped convolution: groups
and rows as one dimension."""

# key: e term

from ir.core.nodes import Expr
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten
from rewrites.engine.stages import stage
from rewrites.engine.strategy import skip
from rewrites.laws.interchange import collapse_beside
from rewrites.nest.dimensions import Dims, classify
from rewrites.nest.named_nest import arranged
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.spine import kernels


def in_groups(e: Expr) -> bool:
    """True if the kernel e makes rows in groups."""
    return _grouped(e) is not None


def _grouped(e: Expr) -> Dims | None:
    """The dimensions of a kernel that makes rows in groups; None for another one."""
    try:
        dims = classify(e)
    except Refused:
        return None
    return dims if dims.batch and dims.rows else None


def _merged(e: Expr) -> Rewritten | None:
    dims = _grouped(e)
    if dims is None:
        return skip(e)
    *batch, groups = dims.batch
    sides = [("groups", (groups,)), ("rows", dims.rows), ("columns", dims.columns)]
    if dims.columns[:1] < dims.rows[:1]:  # columns stay outside of rows
        sides = sides[2:] + sides[:2]
    nest = arranged(batch=batch, **dict(sides))
    return nest.at("groups", collapse_beside()).then(perfect, simplify)(e)


def _some_merged(e: Expr) -> Rewritten | None:
    done = kernels(_merged)(e)
    if done is None or not done[1]:
        raise Refused(
            "expected rows in groups, each with columns of its own, found none: with `groups`, "
            "vectors go over the rows of several groups"
        )
    return done


groups_as_one = stage("groups of rows as one", _some_merged)
"""The program with each kernel that makes rows in groups made one of rows: the innermost dimension
of its batch and its rows become one dimension."""
