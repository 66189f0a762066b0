"""Copies from global to local memory that go on beside what follows, until they are awaited:
`cp.async` of NVIDIA's devices from compute capability 8.0 on, of 4, 8 or 16 bytes.

Copies go through the first-level cache, where lanes find the rest of a sector whose parts others
copied. Those of 16 bytes may go past it (`COPY_16_PAST`)."""

from ir.instructions.entry import Copying
from ir.instructions.mma import NVIDIA

WIDTHS = (4, 8, 16)
PAST = (16,)  # of those that may go past the first-level cache
LATER = (1, 2)  # groups that may be left under way

_FUNCTION = """
inline void copy_N(__local void *to, const __global void *from, int bytes)
{
  asm volatile("cp.async.ca.shared.global [%0], [%1], N, %2;"
               : : "r"((uint)(size_t)to), "l"(from), "r"(bytes) : "memory");
}
#define COPY_N(to, from) copy_N(&(to), &(from), N)
#define COPY_N_OR_ZERO(to, test, from) copy_N(&(to), &(from), (test) ? N : 0)
"""
_PAST = """
inline void copy_N_past(__local void *to, const __global void *from, int bytes)
{
  asm volatile("cp.async.cg.shared.global [%0], [%1], N, %2;"
               : : "r"((uint)(size_t)to), "l"(from), "r"(bytes) : "memory");
}
#define COPY_N_PAST(to, from) copy_N_past(&(to), &(from), N)
#define COPY_N_PAST_OR_ZERO(to, test, from) copy_N_past(&(to), &(from), (test) ? N : 0)
"""
_AWAIT = """
inline void await_copies(void)
{
  asm volatile("cp.async.wait_all;" : : : "memory");
}
#define AWAIT_COPIES() await_copies()
#define AWAIT_COPIES_BUT(later) await_copies_but_##later()
"""
_AWAIT_BUT = """
inline void await_copies_but_N(void)
{
  asm volatile("cp.async.commit_group; cp.async.wait_group N;" : : : "memory");
}
"""
_AT_ONCE = """
#define COPY_N(to, from) (to) = (from)
#define COPY_N_OR_ZERO(to, test, from) if (test) (to) = (from); else (to) = 0
"""
_PAST_AT_ONCE = """
#define COPY_N_PAST(to, from) COPY_N(to, from)
#define COPY_N_PAST_OR_ZERO(to, test, from) COPY_N_OR_ZERO(to, test, from)
"""


def _each(text: str, numbers: tuple[int, ...] = WIDTHS) -> str:
    return "\n".join(text.strip().replace("N", str(n)) for n in numbers)


_BEGUN = (_each(_FUNCTION), _each(_PAST, PAST), _each(_AWAIT_BUT, LATER), _AWAIT.strip())
_NOTHING = "#define AWAIT_COPIES()\n#define AWAIT_COPIES_BUT(later)"

COPIES = Copying(
    "copy_in_flight",
    WIDTHS,
    spelled={NVIDIA: "\n".join(_BEGUN)},
    emulated="\n".join((_each(_AT_ONCE), _each(_PAST_AT_ONCE, PAST), _NOTHING)),
)
ENTRIES = (COPIES,)
