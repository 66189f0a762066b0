"""A network's plan with its constants packed ahead, as it is deployed."""

from dataclasses import replace

from codegen.memory.packed_constants import packed_ahead
from codegen.runtime.session import Session
from explore.network_choice.network_plan import NetworkPlan


def packed_network(plan: NetworkPlan, session: Session) -> NetworkPlan:
    """The plan without kernels that pack, with the constants that they make in a session, one after
    the other. Whoever loads it needs memory for no constant twice, and compiles fewer kernels."""
    built = session.build(plan.plan)
    built.set_constants(plan.constants, held=False)
    constants = built.packed_in_turn()
    return replace(plan, plan=packed_ahead(plan.plan), constants=constants)
