"""A stored variant made again from its family, form and parameters: derived, generated and proved.

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
from explore.results.records import Failed, Variant
from explore.space.derive_at import DeriveAt, derive_at
from explore.space.derive_form import Inapplicable
from ir.errors import UserError
from rewrites.families.all_families import form_named


def make_again(task: Again) -> Plan | Failed:
    """The proved plan of a variant, or the failure of its first stage that fails; done by a
    worker."""
    made = variant_again(task)
    plan = made if isinstance(made, Failed) else made.plan
    assert plan is not None
    if task.vouched_for is None or plan == task.vouched_for:
        return plan
    return _proved(task.vouched_for)


def variant_again(task: Again) -> Variant | Failed:
    """The variant with its proved plan, or the failure of its first stage that fails."""
    try:
        form = form_named(task.program, task.family, task.form)
    except UserError as error:
        return Failed("constrain", str(error))
    found = derive_at(DeriveAt(task.program, form, task.profile, (task.parameters,)))
    if isinstance(found, Inapplicable):
        return Failed("constrain", found.reason)
    bare = next((v for v in found.variants if v.parameters == task.parameters), None)
    if bare is None:
        return Failed("constrain", "its parameters do not satisfy the constraints of its form")
    program = pickle.dumps(found.lowered.program)
    made = make(Builder(None, task.profile), Task(task.number, program, task.parameters))
    return made.failed or made.variant(bare, found.lowered)


def _proved(plan: Plan) -> Plan | Failed:
    """The plan, if its texts are proved safe to run (not that they compute the program); else the
    failure."""
    failures = [v for proof in prove_texts(plan) for v in proof.failures]
    return Failed("prove", sentence(failures[0]).strip()) if failures else plan
