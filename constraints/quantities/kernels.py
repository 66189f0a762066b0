"""The kernels into which `ir` cuts a program, and the parallel maps of each."""

# key: e term

from functools import lru_cache

from ir.core.cut_kernels import stages
from ir.core.frozen import frozen
from ir.core.nodes import Expr, MapPar, Program
from ir.core.terms import once, subterms

Reads = frozenset[str]


@frozen
class Kernel:
    """A kernel: the term that one launch writes to the buffer `output`, and the buffers that it
    reads; `prepack` if it depends on constants alone."""

    output: str
    term: Expr
    reads: Reads  # buffers: parameters, and outputs of other kernels
    prepack: bool  # depends on constants alone


@lru_cache(maxsize=4)
def kernels(program: Program) -> tuple[Kernel, ...]:
    """The kernels of a program in launch order; the last one writes the result."""
    return tuple(Kernel(s.name, s.body, s.reads, s.prepack) for s in stages(program))


@once
def parallel(e: Expr) -> tuple[MapPar, ...]:
    """The parallel maps of a kernel's term, outermost first."""
    return tuple(inner for inner in subterms(e) if isinstance(inner, MapPar))
