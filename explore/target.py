"""A queried device as the data that constraints are inferred for."""

from dataclasses import replace

from codegen.devices import Device
from constraints.devices import CPU, H200, Profile, results_of_cpu

# Operations of a kernel once unrolled: more takes compilers seconds, and seldom pays.
QUICK_CODE = {"gpu": 1 << 11, "cpu": 1 << 9}
MOST_ITEMS = 1024  # of a group: CPU runtimes allow more, and run them one after the other


def profile_of(device: Device) -> Profile:
    """What the driver says, over what is true of its kind."""
    base = H200 if device.kind == "gpu" else CPU
    vector = device.vector if device.kind == "cpu" else base.vector
    x, y, z = (*device.max_work_item_sizes, 1, 1, 1)[:3]
    return replace(
        base,
        name=device.name,
        group_items=min(device.max_work_group, MOST_ITEMS),
        group_dims=(x, y, z),
        cores=device.compute_units,
        local_bytes=device.local_bytes,
        dedicated_local=device.local_is_dedicated,
        memory_bytes=device.global_bytes,
        buffer_bytes=device.max_alloc_bytes,
        vector=vector,
        results=results_of_cpu(vector) if device.kind == "cpu" else base.results,
        quick_code=QUICK_CODE.get(device.kind, QUICK_CODE["cpu"]),
    )
