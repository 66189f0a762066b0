"""Gradients of random convolution-like programs, lowered by a family in a random form at a random
point, and the verdicts on what a device makes of them."""

# key: p program, d drawn gradient, r random numbers, k number of a program

import gzip
import json
import pickle
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import numpy as np

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.plan import Plan
from codegen.runtime.session import BuildFailed, Session
from constraints.devices import Profile
from explore.measure.reference import EPSILON, Expected, expected
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.errors import Unsupported
from ir.meaning.inputs import shape_of
from rewrites.adjoint.program import gradient
from rewrites.engine.refused import Refused
from rewrites.families.all_families import FAMILIES, forms
from rewrites.tuning.lower import lower

ERROR = 1e-5  # of single precision, in parts of what a result would be if nothing cancelled
TRIES = 16  # forms that are drawn before a family counts as one that refuses the program
SMALL_GROUP, LARGE_GROUP = 64, 1024  # work-items: of a sub-group's instructions, the large one
LONGEST = 200  # characters of a reason

RIGHT, WRONG, REFUSED = "right", "wrong", "refused"
NOT_BUILT, FAILED, CRASHED = "not built", "failed", "crashed"
BEGUN = "begun"  # no verdict: news that a try is begun


@dataclass(frozen=True, slots=True)
class Drawn:
    """The gradient `p` of a random program in the parameter `name`, with inputs and the
    interpreter's result for these."""

    name: str
    p: Program
    inputs: dict[str, np.ndarray]
    right: Expected


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word on what a family makes of a program: `right` or `wrong`; `refused`, as no form serves
    it; `not built` by the device's compiler; `failed` by our exception; or `crashed`. `lost`
    is how far the result is away, in parts of what is summed up; `told` names the form and its
    point, or the reason."""

    program: int
    family: str
    word: str
    lost: float = 0.0
    told: str = ""


@dataclass(frozen=True, slots=True)
class Try:
    """A gradient lowered by a family in a form at a point: `words` names these, and `plan` is its
    code. Its result may be off by `rounding` machine epsilons."""

    family: str
    words: str
    plan: Plan
    rounding: float


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason for which the last of the forms that were drawn from a family does not serve a
    gradient; none of those before it did."""

    family: str
    reason: str

    def verdict(self, program: int) -> Verdict:
        return Verdict(program, self.family, REFUSED, 0.0, self.reason)


def drawn(seed: str, k: int) -> Drawn:
    """The k-th random gradient of a seed."""
    from benchmarks.torch_layers import chain  # it imports PyTorch, which `run` does not need

    r = Random(f"{seed} {k}")
    x, rng = chain(r), np.random.default_rng(r.randrange(1 << 30))
    name = r.choice(sorted(x.shapes))
    p = gradient(x.program(), name)
    shapes = {q.var.name: shape_of(q.var.type) for q in p.params}
    given = {n: rng.normal(size=shape).astype(np.float32) for n, shape in shapes.items()}
    wide = {n: a.astype(np.float64) for n, a in given.items()}
    return Drawn(name, p, given, expected(p, wide))


def order(seed: str, k: int) -> list[str]:
    """All families, in the order in which the k-th gradient of a seed tries them."""
    return Random(f"{seed} {k} families").sample([*FAMILIES], len(FAMILIES))


def tried(d: Drawn, family: str, seed: str, machine: Profile) -> Try | Refusal:
    """A drawn gradient lowered by a family in a random form at a random point for a machine, and
    proved; or why none of the forms that were drawn serves it."""
    r = Random(f"{seed} {sorted(d.inputs)} {d.name} {family}")
    every, reason = forms(d.p, family), "it has no forms of this family"
    for form in r.sample(every, min(TRIES, len(every))):
        try:
            low = lower(d.p, form)
            largest = LARGE_GROUP if form.instructions else SMALL_GROUP
            _, found = points(low, machine, 1, seed=r.randrange(1 << 20))
            if not found:
                reason = "no values of its parameters satisfy the constraints"
                continue
            made = generate(bound(low.program, found[0]), max_work_group=largest)
        except (Refused, Unsupported) as why:
            reason = f"{why}"[:LONGEST]
            continue
        demand_proofs(made)
        return Try(family, f"{form.name} at {found[0]}", made.plan, low.derivation.rounding)
    return Refusal(family, reason)


def verdict_on(d: Drawn, k: int, one: Try, session: Session) -> Verdict:
    """The verdict on a try of the k-th gradient: built on the device of a session, and run with
    guarded buffers."""
    try:
        program = session.build(one.plan, checking=True)
    except BuildFailed as why:
        return Verdict(k, one.family, NOT_BUILT, 0.0, f"{one.words}: {why}"[:LONGEST])
    try:
        out = np.asarray(program(d.inputs))
    finally:
        program.release()
    lost = d.right.lost(out)
    word = RIGHT if lost <= ERROR + one.rounding * EPSILON else WRONG
    return Verdict(k, one.family, word, float(lost), one.words)


# ---- files


@dataclass(frozen=True, slots=True)
class Tries:
    """All tries of the drawn gradient whose number is `program`, and the refusals."""

    program: int
    drawn: Drawn
    tries: tuple[Try, ...]
    refused: tuple[Refusal, ...]

    def write(self, folder: Path) -> None:
        """Write these into a folder: the whole file, or nothing."""
        file = kept(folder, self.program)
        part = file.with_suffix(".part")
        part.write_bytes(gzip.compress(pickle.dumps(self)))
        part.rename(file)


def kept(folder: Path, k: int) -> Path:
    """The file of a folder for the tries of the k-th gradient."""
    return folder / f"{k:04}.pickle.gz"


def read(folder: Path, k: int) -> Tries:
    """The tries of the k-th gradient, from their file in a folder."""
    found = pickle.loads(gzip.decompress(kept(folder, k).read_bytes()))
    assert isinstance(found, Tries)
    return found


def write(log: Path, v: Verdict) -> None:
    """Append a verdict to a log, as a line."""
    with log.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(v)) + "\n")


def verdicts_in(log: Path) -> list[Verdict]:
    """The verdicts of a log; none if there is no such file."""
    if not log.exists():
        return []
    return [Verdict(**json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()]
