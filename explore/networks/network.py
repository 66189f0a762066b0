"""A network on a device: called on arrays, it gives what the model computes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from codegen.memory.packed_constants import packed_ahead
from codegen.plan import Plan, Role
from codegen.runtime.built_program import Program as Built
from codegen.runtime.session import Session
from explore.network_choice.layer_options import Option
from explore.network_choice.network_plan import NetworkPlan, assembled
from explore.network_graph.arranged_layers import copies_of
from explore.network_graph.network_layers import Layers
from explore.onnx_model.onnx_graph import Array
from ir.core.frozen import frozen
from ir.errors import UserError


@frozen
class Network:
    """A network built for a device, with one variant for each of its layers. Its constants lie on
    the device alone once it has run: its layers and its plan hold none."""

    layers: Layers
    chosen: tuple[Option, ...]
    plan: NetworkPlan
    session: Session
    built: Built

    @staticmethod
    def of(
        layers: Layers, chosen: Sequence[Option], session: Session, checking: bool = False
    ) -> "Network":
        """The network of these layers, each in its `chosen` variant, built in a session; with
        `checking`, its buffers are poisoned and guarded.

        At its first run it packs its constants one after the other, and drops the host's copy of
        each; with `checking`, which may pack them again, it holds them.
        """
        plan = assembled(layers, chosen)
        built = session.build(plan.plan, checking=checking)
        built.set_constants(plan.constants, held=checking)
        bare = replace(layers, layers=[replace(x, constants={}, others=()) for x in layers.layers])
        return Network(bare, tuple(chosen), replace(plan, constants={}), session, built)

    def __call__(self, *arrays: Any, **by_name: Any) -> Any:
        """The model's result for these arrays, in the order of its inputs or by name; several
        results are a tuple."""
        made = _by_tensor(self.plan, self.built(self._given(arrays, by_name, self.plan)))
        results = tuple(made[self.layers.root(name)] for name in self.layers.outputs)
        return results if len(results) > 1 else results[0]

    def trace(self, *arrays: Any, **by_name: Any) -> dict[str, Array]:
        """Every tensor of the model for these arrays, by its name in the model, with its axes in
        ONNX's order: to compare with another implementation of the model, layer by layer.

        Tensors that folding did away with are not there, nor are copies in another layout.
        """
        plan = assembled(self.layers, self.chosen, kept=True)
        built = self.session.build(packed_ahead(plan.plan))
        packed = self.built.packed().values()  # in the order of the layers, as the plan has them
        built.set_constants(dict(zip(constants_of(built.plan), packed, strict=True)), held=False)
        found = _by_tensor(plan, built(self._given(arrays, by_name, plan)))
        built.release()
        for name in copies_of(self.layers):
            found.pop(name, None)
        return {name: self.layers.tensors[name].in_onnx_order(a) for name, a in found.items()}

    def _given(
        self, arrays: Sequence[Any], by_name: dict[str, Any], plan: NetworkPlan
    ) -> dict[str, Any]:
        names = list(self.layers.inputs)
        if len(arrays) > len(names):
            raise UserError(
                f"expected at most {len(names)} arrays, for {', '.join(names)}; found {len(arrays)}"
            )
        given = dict(zip(names, arrays, strict=False))
        if twice := sorted(given.keys() & by_name.keys()):
            raise UserError(f"{twice[0]} is given by position and by name: expected one")
        given |= by_name
        if given.keys() != set(names):
            raise UserError(
                f"expected the inputs {', '.join(names)}, found {', '.join(given) or 'none'}"
            )
        return {plan.tensors[name]: np.asarray(a) for name, a in given.items()}

    @property
    def memory_bytes(self) -> int:
        """The most bytes of global memory that live at once while the network runs."""
        return self.plan.memory_bytes


def constants_of(plan: Plan) -> tuple[str, ...]:
    """The names of the constants of a plan, in its order."""
    return tuple(b.name for b in plan.buffers if b.role is Role.CONST)


def _by_tensor(plan: NetworkPlan, made: Any) -> dict[str, Array]:
    """The arrays that a run of a plan made, by the names of the tensors that they hold."""
    arrays = made if isinstance(made, tuple) else (made,)
    names = {place: name for name, place in plan.tensors.items()}
    outputs = [b.name for b in plan.plan.buffers if b.role is Role.OUTPUT]
    return {names[place]: a for place, a in zip(outputs, arrays, strict=True)}
