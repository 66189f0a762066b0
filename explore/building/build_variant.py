"""The building of one variant by a worker: its program's parameters bound, its code emitted and
proved, its kernels built."""

import pickle
import time
import traceback
from functools import lru_cache, partial

from codegen.compile import Generated, generate_for
from codegen.demand_proofs import proofs
from codegen.plan import Plan
from codegen.proof.verdicts import Refuted, sentence
from codegen.runtime.devices import Device
from codegen.runtime.results import BuildFailed
from codegen.runtime.session import Session, session_of
from constraints.devices import Profile
from explore.building.bank_conflicts import bank_conflicts
from explore.building.build_tasks import Made, Task
from explore.building.operations import flops
from explore.building.traffic import chip_bytes, traffic_bytes
from explore.results.records import Failed, Stage
from explore.space.lowering import bound
from explore.workers.prepared import prepared
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.errors import IllTyped, Unsupported, UserError


@frozen
class Builder:
    """The means of building variants: the device that kernels are built for (None: plans are only
    made and proved), and the profile that code is generated for.

    The device is opened for the first kernel that is built: workers that open a GPU at the same
    time wait for each other, while all but a few derive forms or have nothing to do.
    """

    device: Device | None
    profile: Profile


def make(state: Builder, task: Task) -> Made:
    """The result of a variant's stages before its run: its code generated, proved and built; a
    failure is in the result."""
    try:
        program = bound(form_program(task.program), dict(task.parameters))
        generated = generate_for(program, state.profile)
    except (Unsupported, UserError, IllTyped) as error:
        return Made.without_plan(Failed("emit", str(error)))
    except Exception as error:
        return Made.without_plan(_bug("emit", error))
    begun = time.perf_counter_ns()
    failed = _proved(generated) or _built(state.device, generated.plan)
    return Made(
        generated.plan,
        flops(generated.kernels),
        traffic_bytes(generated),
        chip_bytes(generated),
        bank_conflicts(generated),
        float(time.perf_counter_ns() - begun),
        failed,
    )


@lru_cache(maxsize=512)
def form_program(pickled: bytes) -> Program:
    """The program of a form, parameters still open, from its pickle."""
    program = pickle.loads(pickled)
    assert isinstance(program, Program)
    return program


def _proved(generated: Generated) -> Failed | None:
    try:
        found = proofs(generated)
    except Exception as error:
        return _bug("prove", error)
    open_ = [v for proof in found for v in proof.failures]
    if not open_:
        return None
    worst = next((v for v in open_ if isinstance(v, Refuted)), open_[0])
    return Failed("prove", sentence(worst).strip(), "\n".join(p.summary() for p in found))


def _built(device: Device | None, plan: Plan) -> Failed | None:
    if device is None:
        return None
    session = _session(device)
    try:
        session.build(plan)
    except BuildFailed as error:
        log = error.log.strip()
        return Failed("build", (log.splitlines() or ["the compiler gave no reason"])[0], log)
    return None


@lru_cache(maxsize=1)
def _session(device: Device) -> Session:
    """The session on the device that a worker builds for, which it opens once."""
    return prepared(partial(session_of, device))


def _bug(stage: Stage, error: Exception) -> Failed:
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return Failed(stage, reason, "".join(traceback.format_exception(error)))
