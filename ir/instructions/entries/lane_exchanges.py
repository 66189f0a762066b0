"""Exchanges of numbers among the lanes of a sub-group: the sum, the largest or the least number of
all lanes, which every lane gets (`lanes_sum_32`); the number of the first lane, for all of them
(`lanes_first_32`); and for each lane the number of the one whose own number differs from its in one
binary digit (`lanes_swap_4`).

Sub-groups of Khronos's extensions have functions for these. NVIDIA's OpenCL has no sub-groups;
there lanes exchange numbers by the instruction `shfl.sync`.
"""

# key: n lanes, s distance of two lanes that exchange numbers, xs what lanes give

from collections.abc import Callable
from math import inf

from ir.core.nodes import At, Binary, Expr, Join, Lam, Lit, Map, Reduce, Reorder, Split, Var
from ir.core.terms import lam
from ir.core.type_rules import elem_of
from ir.core.types import FLOAT, INT, Array
from ir.instructions.entry import Across
from ir.instructions.mma import LANES, NVIDIA

SIZES = (16, LANES)
# Sub-groups have as many lanes as kernels ask for only where there is the attribute that does so.
SIZED = "defined(cl_intel_required_subgroup_size)"
KHRONOS = f"(defined(cl_khr_subgroups) || defined(__opencl_c_subgroups)) && {SIZED}"
SHUFFLES = f"defined(cl_khr_subgroup_shuffle) && {SIZED}"
FOLDS = {  # by name: the operator, its unit, and two numbers x and y combined in OpenCL
    "sum": ("+", 0.0, "x + y"),
    "max": ("max", -inf, "fmax(x, y)"),
    "min": ("min", inf, "fmin(x, y)"),
}
COMBINING = {"sum": "add"}  # what Khronos calls the operators that have another name there


def _fold(name: str, n: int) -> Across:
    """The entry by which n lanes combine their numbers by the operator called `name` in `FOLDS`.
    Where there is no function for it, lanes at each distance exchange what they have combined."""
    op, unit, both = FOLDS[name]
    acc, x = Var("acc", FLOAT), Var("x", FLOAT)
    step = Lam((acc, x), Binary(op, acc, x))
    program = _program(n, lambda xs: Reduce(Lit(unit, FLOAT), step, xs))
    distances = [s for s in (16, 8, 4, 2, 1) if s < n]

    def combined(given: str) -> str:
        steps = [f"  {{ {given.format(s=s)} x = {both}; }}" for s in distances]
        return "\n".join([*steps, "  return x;"])

    khronos = f"  return sub_group_reduce_{COMBINING.get(name, name)}(x);"
    native = {NVIDIA: combined(_ptx("bfly", "{s}")), KHRONOS: khronos}
    shuffled = combined("const float y = sub_group_shuffle_xor(x, {s});")
    return _entry(f"lanes_{name}_{n}", n, program, native, shuffled)


def _first(n: int) -> Across:
    """The entry by which n lanes get the number of the first of them."""
    program = _program(n, lambda xs: At(0, xs))
    native = {
        NVIDIA: f"  {_ptx('idx', '0')}\n  return y;",
        KHRONOS: "  return sub_group_broadcast(x, 0);",
    }
    return _entry(f"lanes_first_{n}", n, program, native, "  return sub_group_shuffle(x, 0);")


def _swap(s: int) -> Across:
    """The entry by which lanes at the distance s exchange their numbers."""
    program = _program(LANES, lambda xs: _swapped(s, xs))
    native = {
        NVIDIA: f"  {_ptx('bfly', str(s))}\n  return y;",
        SHUFFLES: f"  return sub_group_shuffle_xor(x, {s});",
    }
    by_number = f"  return sub_group_shuffle(x, get_sub_group_local_id() ^ {s});"
    return _entry(f"lanes_swap_{s}", LANES, program, native, by_number)


def _swapped(s: int, xs: Expr) -> Expr:
    """The array xs with each two neighbouring runs of s elements exchanged."""
    other = lam("run", INT, lambda run: Binary("-", Lit(1, INT), run))
    runs = Split(2, Split(s, xs))
    turned = Map(lam("pair", elem_of(runs), lambda pair: Reorder(other, pair)), runs)
    return Join(Join(turned))


def _program(n: int, f: Callable[[Expr], Expr]) -> Lam:
    return lam("xs", Array(FLOAT, n), f)


def _ptx(way: str, place: str) -> str:
    """The statements by which each lane gets, as y, the number x of another lane."""
    return (
        "float y; "
        f'asm volatile("shfl.sync.{way}.b32 %0, %1, {place}, 0x1f, 0xffffffff;" '
        ': "=f"(y) : "f"(x));'
    )


def _entry(name: str, n: int, program: Lam, native: dict[str, str], shuffled: str) -> Across:
    """The entry of n lanes with these bodies of its function; sub-groups of NVIDIA's devices have
    32 lanes, and no others."""
    texts = {c: _text(name, body) for c, body in native.items() if c != NVIDIA or n == LANES}
    return Across(name, program, n, texts, _text(name, shuffled))


def _text(name: str, body: str) -> str:
    return f"inline float {name}(float x)\n{{\n{body}\n}}"


ENTRIES = (
    *(_fold(name, n) for name in FOLDS for n in SIZES),
    *map(_first, SIZES),
    *map(_swap, (1, 2, 4, 8, 16)),
)
