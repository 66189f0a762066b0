"""A stored variant made again from its family, form and parameters: lowered, bound, generated and
proved.

If another version of convlift made the variant, the kernels may differ. The user may then vouch for
the stored ones: their text is read and proved safe, but nobody knows whether it computes the
program.
"""

import pickle

from codegen.plan import Plan
from codegen.proof.verdicts import sentence
from codegen.text_proof.prove_text import prove_texts
from explore.building.build_tasks import Again, Task
from explore.building.build_variant import Builder, make
from explore.results.records import Failed
from explore.space.derive_form import constraints
from explore.space.lowering import lowering
from explore.space.neighbours import allowed
from ir.errors import Unsupported, UserError


def make_again(task: Again) -> Plan | Failed:
    """The proved plan of a variant, or the failure of its first stage that fails; done by a
    worker."""
    made = _made(task)
    if task.vouched_for is None or made == task.vouched_for:
        return made
    return _proved(task.vouched_for)


def _proved(plan: Plan) -> Plan | Failed:
    """The plan, if its texts are proved safe to run (not that they compute the program); else the
    failure."""
    failures = [v for proof in prove_texts(plan) for v in proof.failures]
    return Failed("prove", sentence(failures[0]).strip()) if failures else plan


def _made(task: Again) -> Plan | Failed:
    try:
        found = lowering(task.program, task.family, task.form)
        system = constraints(found, task.profile)
    except (Unsupported, UserError) as error:
        return Failed("constrain", str(error))
    if not allowed(system, dict(task.parameters)):
        return Failed("constrain", "its parameters do not satisfy the constraints of its form")
    made = make(Builder(None, task.profile), Task(0, pickle.dumps(found.program), task.parameters))
    if made.failed is not None:
        return made.failed
    assert made.plan is not None
    return made.plan
