"""The options of every program of a network."""

from collections.abc import Callable, Sequence

from codegen.runtime.session import Session
from explore.network_choice.joined_options import with_parts
from explore.network_choice.layer_options import Option, estimated_options
from explore.network_graph.network_layers import Layers
from explore.run.target import Target

Options = Sequence[Sequence[Option]]
"""For each program of a network the options that it has, fastest first."""


def estimated(
    layers: Layers,
    target: Target,
    session: Session | None,
    tell: Callable[[int, Sequence[Option]], None],
) -> Options:
    """The options of each program, by the cost model alone; `session` is on the device that builds
    them (None: they are only proved). `tell` is called for each program with its number and
    options."""
    found = []
    for number, program in enumerate(layers.programs):
        found.append(estimated_options(program, target, session))
        tell(number, found[-1])
    return with_parts(layers, found)
