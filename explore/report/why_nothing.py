"""The reasons, in the user's words, why there is no candidate, or why no variant ran."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from constraints.relations.relations import System
from explore.bounds.program_work import least_bytes
from explore.options.units import show_bytes
from explore.results.lost_forms import LostForm, lost_lines
from explore.results.records import STAGES, Failed, Record, latest
from explore.space.derive_form import Derived, Inapplicable, laddered
from ir.core.nodes import Program

SECONDS = 3.0  # to find out what clashes
MOST = 3  # reasons that are told


def no_candidate(
    program: Program, max_memory: int | None, results: Sequence[Derived | Inapplicable]
) -> str:
    """The message that no derived form has a legal point, and why: `max_memory` is less than any
    variant needs, or what the `results` of the derivations say."""
    if max_memory is not None and max_memory < (least := least_bytes(program)):
        return (
            f"no variant needs only {show_bytes(max_memory)} of memory: the program's inputs and "
            f"output alone are {show_bytes(least)}"
        )
    if not results:
        return (
            "no form of these families is for this device: it lacks their instructions and the "
            "sub-groups to emulate them, or they lose more than is allowed"
        )
    return f"no variant satisfies the constraints: {'; '.join(_why(results))}"


def _why(results: Sequence[Derived | Inapplicable]) -> list[str]:
    """Lines on which constraints contradict each other in the plainest form of each family, or why
    no form of the family could be derived."""
    lowered = {r.family: r for r in reversed(results) if isinstance(r, Derived)}
    refused = {r.family: r.reason for r in reversed(results) if isinstance(r, Inapplicable)}
    families = [f for f in dict.fromkeys(r.family for r in results) if f in (lowered or refused)]
    systems = {family: derived.lowered.system for family, derived in lowered.items()}
    told = {f: _clash(systems[f]) if systems else refused[f] for f in families[:MOST]}
    if len(set(told.values())) == 1:
        return list(told.values())[:1]
    return [f"{family}: {reason}" for family, reason in told.items()]


def _clash(system: System) -> str:
    from constraints.solve.explain import clash  # here: Z3 takes a tenth of a second to import
    from constraints.solve.solver import Answer, Solver

    for asked in (system, laddered(system)):
        verdict = Solver(asked, SECONDS).feasible()
        if verdict.answer is Answer.NO:
            return clash(verdict.core, system.parameters)
    return "no sizes were found that satisfy them all"


def none_ran(records: Sequence[Record], lost: Sequence[LostForm] = ()) -> list[str]:
    """Lines saying that all variants failed: how many at each stage, and why most often; and which
    forms were not derived."""
    return ["no variant ran to the end", *_failures(records), *lost_lines(lost)]


def _failures(records: Sequence[Record]) -> Iterator[str]:
    failed = [r.outcome for r in latest(records) if isinstance(r.outcome, Failed)]
    for stage in STAGES:
        here = [f.reason for f in failed if f.stage == stage]
        if here:
            yield f"{len(here)} failed at {stage}"
            yield from _commonest(here)


def _commonest(reasons: Sequence[str]) -> Iterator[str]:
    """The lines with the commonest reasons; those that differ in numbers alone count as one."""
    alike = defaultdict[str, list[str]](list)
    for reason in reasons:
        alike[re.sub(r"[\d.]+(e[+-]?\d+)?", "0", reason)].append(reason)
    ranked = sorted(alike.values(), key=len, reverse=True)
    for several in ranked[:MOST]:
        yield f"  {len(several)} {'×' if len(set(several)) == 1 else 'like'} {several[0]}"
    if left := sum(map(len, ranked[MOST:])):
        yield f"  {left} for other reasons"
