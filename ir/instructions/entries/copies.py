"""Copies from global to local memory that go on beside what follows, until they are awaited:
`cp.async` of NVIDIA's devices from compute capability 8.0 on, of 4, 8 or 16 bytes.

All go through the first-level cache: groups on one multiprocessor read the same rows and columns of
products, and on an H200 copies of 16 bytes that go past that cache (`.cg`) took longer."""

from ir.instructions.entry import Copying
from ir.instructions.mma import NVIDIA

WIDTHS = (4, 8, 16)
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


def _each(text: str, numbers: tuple[int, ...] = WIDTHS) -> str:
    return "\n".join(text.strip().replace("N", str(n)) for n in numbers)


COPIES = Copying(
    "copy_in_flight",
    WIDTHS,
    spelled={NVIDIA: f"{_each(_FUNCTION)}\n{_each(_AWAIT_BUT, LATER)}\n{_AWAIT.strip()}"},
    emulated=f"{_each(_AT_ONCE)}\n#define AWAIT_COPIES()\n#define AWAIT_COPIES_BUT(later)",
)
ENTRIES = (COPIES,)
