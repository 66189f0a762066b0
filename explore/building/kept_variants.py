"""The variants of the front that are known for a program, ready to be measured again.

They are kept with their plans in the user's cache. These were proved when they were made, by this
version for a device with the same profile, and are taken as they are, as built kernels are.
"""

import json
from collections.abc import Iterable

from codegen.binaries.binary_cache import BinaryCache, key
from codegen.binaries.cache_folder import cache_folder
from constraints.devices import Profile
from explore.building.build_tasks import Again
from explore.options.stored_fields import Damaged, loaded
from explore.results.read_record import variant_from
from explore.results.record_json import variant_json
from explore.results.records import Variant
from explore.results.version import version
from explore.run_store.packed_text import MOST, packed, unpacked
from ir.core.nodes import Program
from ir.text.show import show

KEPT = 32 << 20  # bytes of variants


def keep_variants(program: Program, profile: Profile, variants: Iterable[Variant]) -> None:
    """Keep variants of a program with their plans, which were made here for a device with this
    profile."""
    cache = _cache()
    for variant in variants:
        text = json.dumps(variant_json(variant), allow_nan=False)
        cache.put(_name(program, profile, variant), packed(text))


def kept_variant(task: Again) -> Variant | None:
    """The variant of a task with its plan, if it is kept."""
    name, cache = _name(task.program, task.profile, task), _cache()
    content = cache.get(name)
    if content is None:
        return None
    try:
        found = variant_from(loaded(unpacked(content, "variant"), "variant", MOST))
        if found.plan is not None:
            return found
    except (Damaged, ValueError):
        pass
    cache.drop(name)
    return None


def _name(program: Program, profile: Profile, which: Variant | Again) -> str:
    chosen = which.family, which.form, repr(which.parameters)
    return key("variant 1", version(), show(program), repr(profile), *chosen)


def _cache() -> BinaryCache:
    return BinaryCache(cache_folder() / "variants", KEPT)
