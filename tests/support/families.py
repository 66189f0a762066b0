"""The families by kind, as tests ask for them."""

from rewrites.families.all_families import FAMILIES
from rewrites.families.by_storage import FAMILIES as BY_STORAGE
from rewrites.tuning.family import Products

# Those that lower a program with the products that it asks for, and hold every such form.
LOWERING = tuple(f.name for f in FAMILIES.values() if f.by_default and f.products is Products.ASKED)
BILINEAR = tuple(f.name for f in FAMILIES.values() if f.products is Products.FEWER)
STORING = tuple(f.name for f in BY_STORAGE)
