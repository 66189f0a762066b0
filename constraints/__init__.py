"""The legal values of tuning parameters: constraints inferred from a program and a device, and two
engines that solve them, one by counting and one by Z3.

`constraints.solver` (Z3) is imported by whoever asks it: it takes a moment to load.
"""

from constraints.count.points import Point, Space, count_bound, space, stratified
from constraints.devices import PROFILES, Profile, profile, with_overrides
from constraints.infer.infer import infer
from constraints.quantities.quantities import Quantities, memory_at, peak_at, quantities
from constraints.relations.relations import Constraint, System, holds, show_relation

__all__ = [
    "PROFILES",
    "Constraint",
    "Point",
    "Profile",
    "Quantities",
    "Space",
    "System",
    "count_bound",
    "holds",
    "infer",
    "memory_at",
    "peak_at",
    "profile",
    "quantities",
    "show_relation",
    "space",
    "stratified",
    "with_overrides",
]
