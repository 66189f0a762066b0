"""A network whose constants were packed before it is built, as exported ones are."""

from codegen.runtime.built_program import Program
from codegen.runtime.session import Session
from explore.network_choice.choose_options import Choice
from explore.networks.packed_network import packed_network


def packed_ahead(choice: Choice, session: Session) -> Program:
    """The network of a choice, built for a device, with constants that were packed ahead."""
    ahead = packed_network(choice.plan, session)
    built = session.build(ahead.plan)
    built.set_constants(ahead.constants, held=False)
    return built
