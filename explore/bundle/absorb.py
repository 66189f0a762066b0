"""The run that is made of a board's file of results: on the board's device, with the outcomes of
the variants that ran there, from which a search goes on."""

import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from codegen.runtime.devices import Device
from constraints.devices import Profile
from explore.bundle.bundled_program import BundledProgram
from explore.bundle.check_claims import checked
from explore.bundle.claims import claims_in
from explore.measure.reference import largest_error
from explore.options.options import Options
from explore.results.records import Bounds, Failed, Record, latest
from explore.results.run_environment import Environment
from explore.run.run import Run, new_folder
from explore.run.source import Source
from explore.run.target import numbers_of, stored_profile
from explore.run_store.store import Store
from ir.core.frozen import frozen
from ir.text.counted import counted

PLAIN = re.compile(r"[^a-z0-9]+")


@frozen
class Absorbed:
    """A run that was made of a file of results: its device, how many of its variants were measured,
    how many failed for each reason, and True if the file's last line was cut off."""

    run: Run
    device: Device
    measured: int
    failed: Counter[str]
    cut_off: bool

    @property
    def lines(self) -> list[str]:
        """Lines for the user: the device of the run that was absorbed, how many variants are right
        there, and how many failed for each reason."""
        told = [f"{self.device.name} ({self.device.platform}, driver {self.device.driver})"]
        told.append(f"{counted(self.measured, 'variant')} ran there with right results")
        told += [f"{counted(n, 'variant')} failed: {why}" for why, n in self.failed.most_common()]
        if self.cut_off:
            told.append(
                "the file's last line was cut off and is left out; the bundle, started again on "
                "the board, goes on there"
            )
        return told


def absorb(folder: Path, file: Path, out: Path | None = None) -> Absorbed:
    """The run of a file of results: of the device that the file tells of, with the variants of the
    run in `folder`. It is stored in `out`, or, if that is None, in a new folder beside `folder`.

    A UserError, and no run, for a file that is not what a bundle of that run can have given.
    """
    claims = claims_in(file)
    with Store.read(folder) as store:
        before, records = store.environment, {r.variant.id: r for r in latest(store.records())}
    options = Options.from_json(before.options)
    program = BundledProgram(Source.of(before).program(options), options.seed)
    allowed = largest_error(program.program, options.max_error)
    found = list(checked(claims, records, program, before.program_hash, allowed))
    now = time.time()
    device = claims.host.device
    made = [Record(each.variant, each.outcome, 0.0, now) for each in found]
    environment = _environment(before, options, device, claims.host.launch_ns, made)
    name = f"{folder.resolve().name}-{PLAIN.sub('-', device.name.lower()).strip('-') or 'board'}"
    place = out or new_folder(name[:100], folder.resolve().parent)
    with Store.create(place, environment) as store:
        store.append(made)
    failed = _failures(made)
    return Absorbed(Run(place), device, len(made) - failed.total(), failed, claims.cut_off)


def _failures(made: Iterable[Record]) -> Counter[str]:
    """The number of failures among these records at each stage; a key names the stage and the
    reason of its first failure."""
    first, found = dict[str, str](), Counter[str]()
    for outcome in (r.outcome for r in made):
        if isinstance(outcome, Failed):
            line = f"{outcome.stage}: {outcome.reason.splitlines()[0][:200]}"
            found[first.setdefault(outcome.stage, line)] += 1
    return found


def _environment(
    before: Environment, options: Options, device: Device, launch_ns: float, made: list[Record]
) -> Environment:
    """The environment of the new run, which begins with the records `made`: that of the run
    `before`, but on the device, with `launch_ns` as the time of an empty launch. Its limits are
    those of the old run's profile, as far as the device allows, so that variants are made as they
    were."""
    profile = fitted(stored_profile(before, options), device)
    numbers, bounds = numbers_of(profile), before.bounds
    limited = replace(options, limits=tuple((n, tuple(v)) for n, v in numbers.items()))
    return replace(
        before,
        device=device.name,
        platform=device.platform,
        driver=device.driver,
        options={**before.options, "limits": limited.as_json()["limits"], "profile": None},
        bounds=Bounds(
            flops=bounds.flops,
            whole_operations=bounds.whole_operations,
            io_bytes=bounds.io_bytes,
            products=bounds.products,
            launch_ns=launch_ns,
        ),
        started_unix_s=time.time(),
        numbers=numbers,
        reference=None,
        begins=tuple(r.variant.id for r in made),
    )


def fitted(profile: Profile, device: Device) -> Profile:
    """A profile with the sizes of groups and memory reduced to the device's own, where these are
    less."""
    x, y, z = device.max_work_item_sizes
    own = profile.group_dims
    return replace(
        profile,
        group_items=min(profile.group_items, device.max_work_group),
        group_dims=(min(own[0], x), min(own[1], y), min(own[2], z)),
        cores=device.compute_units,
        local_bytes=min(profile.local_bytes, device.local_bytes),
        memory_bytes=device.global_bytes,
        buffer_bytes=device.max_alloc_bytes or device.global_bytes,
        half_arithmetic=profile.half_arithmetic and device.half,
    )
