"""The names of families by kind: the lists over which tests are parametrized."""

from rewrites.families.all_families import FAMILIES
from rewrites.families.by_storage import FAMILIES as BY_STORAGE
from rewrites.tuning.family import Products

CHAINS = ("fused",)  # lower several sums as one kernel, and refuse one alone
RARE = ("lanes",)  # have forms for few programs, and tests of their own
ALONE = tuple(name for name in FAMILIES if name not in (*CHAINS, *RARE))

EMULATED = ("matrix",)  # consist of instructions that a CPU emulates, and have tests of their own

# Those that lower a program with the products that it asks for, and hold every such form.
LOWERING = tuple(
    name
    for name in ALONE
    if name not in EMULATED
    and FAMILIES[name].by_default
    and FAMILIES[name].products is Products.ASKED
)
BILINEAR = tuple(f.name for f in FAMILIES.values() if f.products is Products.FEWER)
STORING = tuple(f.name for f in BY_STORAGE)
