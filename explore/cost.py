"""A rough time for a variant on a device that is not here: good for an order, not for a number."""

import math
from collections.abc import Callable, Mapping

from constraints.devices import Profile
from explore.records import Predicted, Variant

LANES = 64  # work-items that a core keeps busy at once
RATE = 64e9  # operations a second and core
BANDWIDTH = 4e9  # bytes a second and core
LAUNCH_NS = 5e3
SPILL = 4.0  # what an overfull register file costs


def judge_for(profile: Profile) -> Callable[[Variant], Predicted]:
    """The slower of arithmetic and traffic, over how much of the device is busy."""

    def judge(variant: Variant) -> Predicted:
        features = dict(variant.features)
        busy = min(1.0, features.get("threads", 1.0) / (LANES * profile.cores))
        compute = (variant.flops or 0) / (RATE * profile.cores) / max(busy, 1e-3)
        traffic = (variant.traffic_bytes or 0) / (BANDWIDTH * profile.cores)
        spill = SPILL if features.get("private bytes", 0) > 4 * profile.private_words else 1.0
        seconds = spill * math.hypot(compute, traffic) * _staging(features, profile)
        return Predicted(1e9 * seconds + LAUNCH_NS * features.get("kernels", 1.0))

    return judge


def _staging(features: Mapping[str, float], profile: Profile) -> float:
    """Copies through local memory only cost where it is ordinary memory."""
    staged = features.get("local bytes", 0.0) > 0
    return 1.3 if staged and not profile.dedicated_local else 1.0
