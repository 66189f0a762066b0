"""The check of what a board claims of its variants, number by number, against the run of which the
bundle was made; and the outcomes that follow.

Claims that contradict each other, or the bundle, are no results of it: the file is refused. A
variant whose results are wrong has failed.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import prod

import numpy as np

from codegen.plan import Buffer, Role
from explore.bundle.bundled_program import BundledProgram
from explore.bundle.claims import SAMPLES, Claims, DidNot, Host, Ran
from explore.bundle.write_bundle import text_hash
from explore.measure.reference import EPSILON, Expected
from explore.options.stored_fields import Damaged
from explore.results.pace import Level, Reading
from explore.results.records import Failed, Measured, Record, Variant
from explore.space.lowering import lowering
from ir.core.frozen import frozen

SLACK = 1e-6  # of sums of doubles, and of what numbers lose as text


@frozen
class Checked:
    """A variant whose claims were checked, with its outcome."""

    variant: Variant
    outcome: Measured | Failed


def checked(
    claims: Claims,
    records: Mapping[str, Record],
    program: BundledProgram,
    hash_of_program: str,
    max_error: float,
) -> Iterator[Checked]:
    """The outcomes of the variants that a file's claims tell of. `records` are those of the run, by
    id; `program`, with its hash, is the one of the bundle; `max_error` is the largest error of a
    right result.

    Raises Damaged where a claim is not what the bundle can have given.
    """
    _demand_given(claims.host, program, hash_of_program)
    rounding = cache(lambda family, form: _rounding(program, family, form))
    for claim in claims.variants:
        record = records.get(claim.id)
        if record is None or record.variant.plan is None:
            raise Damaged(f"{claim.id}: expected a variant of the run, found none of this name")
        variant = record.variant
        if claim.text != text_hash(record.variant.plan):
            raise Damaged(
                f"{claim.id}: its text was another than the run's: sha256 {claim.text[:12]}…"
            )
        if isinstance(claim, DidNot):
            yield Checked(variant, Failed(claim.stage, claim.reason))
            continue
        _demand_fits(claim, variant, claims.host)
        judge = _Judge(claim, variant, program, max_error)
        yield Checked(variant, judge.outcome(rounding(variant.family, variant.form)))


def _demand_given(host: Host, program: BundledProgram, hash_of_program: str) -> None:
    """Raise Damaged unless the board, as `host` tells, had the program with this hash and this
    program's inputs."""
    if host.program != hash_of_program:
        raise Damaged("the results are of another program, or of other sizes, than the run")
    for found, whole in ((host.inputs, False), (host.whole, True)):
        if list(found) != program.hashes(whole):
            raise Damaged("the board drew other inputs than those of the run's seed")


def _demand_fits(claim: Ran, variant: Variant, host: Host) -> None:
    """Raise Damaged if the device of `host`, on which the claim says that the variant ran, has too
    little memory for it, or allows only smaller groups."""
    assert variant.plan is not None
    device, plan = host.device, variant.plan
    items = max(prod(k.local_size) for k in plan.kernels)
    most = max(b.bytes for b in plan.buffers)
    for what, needs, has in (
        ("items of a group", items, device.max_work_group),
        ("bytes of a buffer", most, device.max_alloc_bytes or device.global_bytes),
        ("bytes of memory", plan.memory_bytes, device.global_bytes),
    ):
        if needs > has:
            raise Damaged(
                f"{claim.id} is said to have run on {device.name}, which has {has} {what}; "
                f"it needs {needs}"
            )


def _rounding(program: BundledProgram, family: str, form: str) -> float:
    """The relative error, in machine epsilons, that a form's derivation may cause in results for
    whole numbers; 0 if they stay exact."""
    return lowering(program.program, family, form).derivation.rounding


@frozen
class _Judge:
    """The check of one variant that a board claims to have run: the claim, the variant in the run,
    its program, and the largest error of a right result."""

    claim: Ran
    variant: Variant
    program: BundledProgram
    max_error: float

    @property
    def _outputs(self) -> Sequence[Buffer]:
        assert self.variant.plan is not None
        return [b for b in self.variant.plan.buffers if b.role is Role.OUTPUT]

    def outcome(self, rounding: float) -> Measured | Failed:
        """The variant's outcome: Measured if all its results are right, else Failed; raises Damaged
        for claims that contradict each other. `rounding` is the error, in machine epsilons, that
        the variant's form may cause in results for whole numbers."""
        self._demand_shape()
        error = self.claim.error
        if error is None or not error <= self.max_error:
            said = "no number" if error is None else f"{error:.2g}"
            reason = f"error {said} is over {self.max_error:.2g}"
            return Failed("verify", reason, error=error)
        self._demand_error(error)
        if wrong := next(self._wrong(rounding), None):
            return Failed("verify", wrong)
        level = Level.of([Reading(ns, 0.0) for ns in self.claim.runs_ns])
        return Measured(
            time_ns=statistics.median(self.claim.runs_ns),
            spread=level.spread,
            error=error,
            prepack_ns=self.claim.prepack_ns,
            build_ns=self.claim.build_ns,
            runs_ns=self.claim.runs_ns,
        )

    def _demand_shape(self) -> None:
        """Raise Damaged unless the claim has a hash and samples of each result."""
        claim, count = self.claim, len(self._outputs)
        if not (len(claim.samples) == len(claim.whole_samples) == len(claim.exact) == count):
            raise Damaged(f"{claim.id}: expected {count} results, found another number of them")
        if any(len(taken) != SAMPLES for taken in (*claim.samples, *claim.whole_samples)):
            raise Damaged(f"{claim.id}: expected {SAMPLES} samples of each result")

    def _demand_error(self, error: float) -> None:
        """Raise Damaged if the samples have a larger error than `error`, which is the claimed error
        of all results."""
        for k, taken in enumerate(self.claim.samples):
            right = self.program.right.outputs[k].ravel()
            places = np.unique(self.program.places(k), return_index=True)
            off = _array(taken)[places[1]] - right[places[0]]
            most = error * float(np.linalg.norm(right)) * (1 + SLACK)
            if not float(np.linalg.norm(off)) <= most + SLACK * EPSILON:
                raise Damaged(
                    f"{self.claim.id}: its error is said to be {error:.2g}, and its samples are "
                    "further off"
                )

    def _wrong(self, rounding: float) -> Iterator[str]:
        """Messages on what is wrong with the results for inputs of whole numbers; none if they are
        right. `rounding` is the error, in machine epsilons, that the variant's form may cause in
        them."""
        for k, buffer in enumerate(self._outputs):
            right = self.program.right.exact
            if right is None:
                continue
            meant = right[k].output.ravel()[self.program.places(k)]
            taken = _array(self.claim.whole_samples[k])
            if not Expected(meant, right[k].scale, right[k].rounding).agrees(taken, rounding):
                yield f"samples of result {k} for whole numbers differ from the right ones"
            hashed = self.program.exact_hash(k, buffer.scalar)
            if not rounding and hashed is not None and hashed != self.claim.exact[k]:
                yield f"result {k} for whole numbers differs from the right one, by its sha256"


def _array(samples: Sequence[float | None]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([math.nan if s is None else s for s in samples], np.float64)
