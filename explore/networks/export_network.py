"""The export of a network as a folder of files, with which it runs and is checked without
convlift."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from codegen.plan import Role
from codegen.runtime.session import Session
from explore.export.export_variant import Told, write_export
from explore.network_choice.choose_options import Choice
from explore.network_graph.interpret_network import interpreted
from explore.network_graph.network_layers import Layers
from explore.networks.network_tables import layer_table, memory_lines
from explore.networks.packed_network import packed_network
from explore.onnx_model.onnx_graph import Array

SEED = 0
FAR = 1e-4  # relative error of right results: the errors of layers add up


def export_network(
    choice: Choice, made_for: str, folder: Path, session: Session | None = None
) -> None:
    """Write a network with its chosen variants to a folder: kernels, the plan of their launches and
    of memory, weights in one file, an input with the right result, and hosts in Python and C.

    Results come in the model's order, each tensor once. The weights are packed already, if there is
    a `session` on the device to do so; else the hosts pack them when they load them.
    """
    layers = choice.layers
    random = np.random.default_rng(SEED)
    plan = choice.plan if session is None else packed_network(choice.plan, session)
    inputs = inputs_for(layers, random)
    made = interpreted(layers, inputs)
    results = [made[name] for name in dict.fromkeys(map(layers.root, layers.outputs))]
    given = {plan.tensors[name]: a for name, a in inputs.items()} | dict(plan.constants)
    roles = {b.name for b in plan.plan.buffers if b.role in (Role.INPUT, Role.CONST)}
    told = Told(
        made_for=made_for,
        max_error=FAR,
        said={
            "network": layers.name,
            "layers": [
                {"layer": layer.title, "operator": layer.operator, "variant": option.id}
                for layer, option in zip(layers.layers, choice.options, strict=True)
            ],
            "time_ns": choice.time_ns,
            "measured": all(o.measured for o in choice.options),
        },
        kernels=f"{_comment(memory_lines(choice))}\n{plan.plan.source}",
        readme=_readme(choice, made_for),
        name=layers.name,
        title=f"the network {layers.name}, {len(layers.layers)} layers.",
    )
    write_export(folder, plan.plan, told, {name: given[name] for name in sorted(roles)}, results)


def inputs_for(layers: Layers, random: np.random.Generator) -> dict[str, Array]:
    """Random arrays for a network's inputs, by name."""
    return {n: _drawn(random, kind.dtype, kind.shape) for n, kind in layers.inputs.items()}


def _drawn(random: np.random.Generator, dtype: str, shape: Sequence[int]) -> Array:
    if np.issubdtype(np.dtype(dtype), np.integer):
        return random.integers(0, 100, shape).astype(dtype)
    return random.uniform(-1, 1, shape).astype(dtype)


def _comment(lines: Sequence[str]) -> str:
    return "".join(f"// {line}\n" for line in lines)


def _readme(choice: Choice, made_for: str) -> str:
    told = "\n".join([*memory_lines(choice), "", *layer_table(choice)])
    return f"""# {choice.layers.name}

A network as OpenCL kernels, with a variant chosen for each layer, on {made_for}.

    python host.py      (needs numpy and pyopencl)
    make && ./host      (needs a C compiler, the OpenCL headers and a loader)

Both run `kernels.cl` as `plan.json` says (`plan.h` says the same in C) on what is in `data/inputs`,
with the weights of `data/weights.bin`, print what an inference takes, and check the result against
`data/expected.bin` (doubles). Times of layers are of each alone, their sum is what was chosen by.

```
{told.replace("```", "''' ")}
```
"""
