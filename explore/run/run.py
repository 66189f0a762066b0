"""A run from start to end: its folder, its workers, its front, and its report."""

import platform
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from codegen.runtime.devices import devices
from explore.bounds.least_bytes import moved_bytes
from explore.bounds.products_of_program import products
from explore.bounds.program_work import operations, whole_operations
from explore.export.export_variant import kernel_text
from explore.files.own_folder import OwnFolder
from explore.files.whole_files import write_whole
from explore.measure.front_again import contenders
from explore.offline.working_compiler import demand_compiled_for, demand_compiler
from explore.options.option_values import demand_one, demand_positive, demand_whole
from explore.options.options import Options
from explore.options.units import parse_bytes, parse_seconds
from explore.pages.live_page import LivePage
from explore.pages.report import page
from explore.pages.report_data import Told
from explore.record_book.device_facts import LIMITS, DeviceFacts
from explore.record_book.recalled import Recalled
from explore.report.progress import Watch
from explore.report.run_html import run_html, summary_line
from explore.results.front import Limits, by_id, front, pick
from explore.results.lost_forms import LostForm
from explore.results.records import Bounds, Peer, Record, latest
from explore.results.run_environment import Environment
from explore.results.version import version
from explore.run.book_keeping import BookKeeping, Records, book_again, book_of
from explore.run.exploration import Exploration
from explore.run.loop import first_round
from explore.run.source import Source
from explore.run.target import Devices, Target, numbers_of, target_again, tried
from explore.run.trusted_plans import TrustedPlans
from explore.run.worker_pools import Here, Knowing
from explore.run_store.guarded_database import FILE as DATABASE
from explore.run_store.store import Store
from explore.workers.hands import Hands
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.errors import UserError
from ir.text.counted import counted

if TYPE_CHECKING:
    from explore.run.compiled_variant import Compiled


@frozen
class Run:
    """A run that is stored in a folder."""

    folder: Path

    def __repr__(self) -> str:
        """The text of the run: its folder, and a summary of its front."""
        return f"<run {self.folder}: {summary_line(self.records)}>"

    def _repr_html_(self) -> str:
        """The front as HTML for a notebook: a picture and a table."""
        with Store.read(self.folder) as store:
            return run_html(store.records(), store.environment_told)

    @property
    def stored(self) -> bool:
        """True if the folder holds a run."""
        return (self.folder / DATABASE).exists()

    @property
    def told(self) -> Told:
        """All that a report shows of the run, read at once."""
        with Store.read(self.folder) as store:
            return _told(store)

    @property
    def records(self) -> list[Record]:
        with Store.read(self.folder) as store:
            return store.records()

    @property
    def environment(self) -> Environment:
        with Store.read(self.folder) as store:
            return store.environment_told

    @property
    def peers(self) -> list[Peer]:
        with Store.read(self.folder) as store:
            return store.peers()

    @property
    def lost_forms(self) -> list[LostForm]:
        """The forms that were not derived because their worker died or took too long."""
        with Store.read(self.folder) as store:
            return store.lost_forms()

    @property
    def front(self) -> list[Record]:
        return front(self.records)

    def pick(
        self,
        which: Literal["fastest", "smallest"] = "fastest",
        *,
        id: str | None = None,
        max_memory: str | int | None = None,
        max_time: str | float | None = None,
        max_error: float | None = None,
        trust: bool = False,
    ) -> "Compiled":
        """The variant with the name `id`, or the one of the front that is fastest or smallest
        (`which`) within the limits; made again here and ready to be called on arrays.

        A variant that another version made, and this one makes otherwise, is given only with
        `trust`.
        """
        demand_one("which", which, ("fastest", "smallest"))
        limits = limits_of(max_memory, max_time, max_error)
        if not isinstance(id, str | None):
            raise UserError(f"id: expected the name of a variant, found {id!r}")
        records = self.records
        record = by_id(records, id) if id else pick(records, which, limits)
        from explore.run.compiled_variant import Compiled  # here: it loads what opens devices

        return Compiled.of(record, self.environment, trust)


def limits_of(
    max_memory: str | int | None, max_time: str | float | None, max_error: float | None = None
) -> Limits:
    """The limits that people write, such as `32MiB` and `1.5ms`; plain numbers are bytes and
    seconds."""
    memory = parse_bytes(max_memory) if isinstance(max_memory, str) else max_memory
    seconds = parse_seconds(max_time) if isinstance(max_time, str) else max_time
    if memory is not None:
        demand_whole("max_memory", memory, least=0)
    if seconds is not None:
        demand_positive("max_time", seconds, "seconds")
    if max_error is not None:
        demand_positive("max_error", max_error, "a relative error")
    return Limits(memory, None if seconds is None else seconds * 1e9, max_error)


def environment_of(source: Source, options: Options, target: Target) -> Environment:
    """The environment of a run: all that its times depend on."""
    program = source.program(options)
    return Environment(
        program=source.text,
        name=program.name,
        device=target.name,
        platform=target.platform,
        driver=target.driver,
        version=version(),
        seed=options.seed,
        variants=options.variants,
        options={
            **options.as_json(),
            "file": source.name,
            "profile": None if target.device else target.profile.name,
        },
        bounds=Bounds(
            flops=operations(program),
            whole_operations=whole_operations(program),
            io_bytes=moved_bytes(program),
            products=products(program),
        ),
        machine={
            "host": platform.node(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        started_unix_s=time.time(),
        numbers=numbers_of(target.profile),
    )


def start(
    source: Source,
    options: Options,
    target: Target,
    folder: Path,
    records: Records = None,
    hands: Hands | None = None,
    live: int | None = None,
    begun: float | None = None,
) -> tuple[Run, bool]:
    """A new run, stored in a folder, after it has ended; and True, or False if its time was up
    before the end. Its time counts from `begun` by the clock (None: from now).

    `records` is the record book that it begins from and adds to: a file, None for the user's own,
    False for none. `hands` build and measure; None are this machine's. `live` is the port on which
    the report is served meanwhile (0: any that is free; None: it is not served).
    """
    hands = hands or Here()
    begun = time.monotonic() if begun is None else begun
    program = source.program(options)  # mistakes in it come before anything is written
    demand_compiled_for(target.profile, options)
    environment = replace(environment_of(source, options, target), records=book_of(records))
    with ExitStack() as stack:
        books = stack.enter_context(BookKeeping.begun(records, program, target))
        known = books.tell(options, environment.started_unix_s)  # before the device is measured
        facts = books.facts(known, options.variants)
        asked = hands if facts is None else Knowing(hands, facts)
        if facts is None and target.device is not None:
            books.note(f"measuring what {target.name} can do, to compare times with")
        measured = _with_limits(environment, target, asked)
        target = tried(target, asked)  # a device that hangs or dies there leaves no run behind
        if target.device is None:
            demand_compiler(target.profile, options)  # nor does a compiler that does not work
        store = stack.enter_context(Store.create(folder, measured))
        if facts is None and target.device is not None:
            books.keep_facts(_facts(measured, target))
        return _explore(store, program, options, target, begun, books, known, hands, live)


def _facts(measured: Environment, target: Target) -> DeviceFacts:
    """The facts that a run found out about a target's device: the limits in the environment
    `measured`, and the instructions in the target's profile."""
    limits = {name: getattr(measured.bounds, name) for name in LIMITS}
    return DeviceFacts(limits, target.profile.instructions)


def _with_limits(environment: Environment, target: Target, hands: Hands) -> Environment:
    if target.device is None:
        return environment
    found = hands.limits(target.device)
    bounds = replace(
        environment.bounds,
        peak_flops=found["peak_flops"],
        bandwidth=found["bandwidth"],
        launch_ns=found["launch_ns"],
        event_ns=found["event_ns"],
        yardstick_ns=found["yardstick_ns"],
        yardstick_operations=found["yardstick_operations"],
    )
    return replace(environment, bounds=bounds)


def resume(
    folder: Path,
    records: Records = None,
    hands: Hands | None = None,
    there: Devices = devices,
    live: int | None = None,
    begun: float | None = None,
    seconds: float | None = None,
) -> tuple[Run, bool]:
    """The run stored in a folder, after it has gone on and ended; and True, or False if its time,
    which counts from `begun` by the clock (None: from now), was up before the end: `seconds`, or
    (None) as long as its options say. It goes on on the same device, or, if `hands` own the devices
    `there`, on one of the same kind.

    `records` is the record book that it begins from and adds to: a file, True for the user's own,
    False for none, None for the one it has used so far. `hands` build and measure; None are this
    machine's. `live` is the port on which the report is served meanwhile (0: any that is free;
    None: it is not served)."""
    hands = hands or Here()
    begun = time.monotonic() if begun is None else begun
    with Store.read(folder) as store:
        stored = store.environment
    records = book_again(records, stored, folder)
    options = Options.from_json(stored.options)
    source = Source.of(stored)
    target = target_again(stored, options, there)
    now = environment_of(source, options, target)
    if seconds is not None:
        options = replace(options, time_limit=seconds)
    program = source.program(options)
    with (
        BookKeeping.begun(records, program, target) as books,
        Store.resume(folder, now) as store,
    ):
        known = books.tell(options, stored.started_unix_s)
        target = tried(target, hands)
        if target.device is None:
            demand_compiler(target.profile, options)
        return _explore(store, program, options, target, begun, books, known, hands, live)


def _explore(
    store: Store,
    program: Program,
    options: Options,
    target: Target,
    begun: float,
    books: BookKeeping,
    known: Recalled,
    hands: Hands,
    live: int | None,
) -> tuple[Run, bool]:
    """The run after exploring, and True, or False if its time was up before the end. `begun` is the
    start by the clock, so that measuring the device, deriving forms and computing the right results
    count in the time limit. `live` is the port on which the report is served meanwhile (0: any that
    is free; None: it is not served)."""
    before = store.records()
    plans = TrustedPlans(store.environment, jobs=options.workers)
    if target.device is not None:
        plans.all(contenders(before))  # a folder that was changed is refused before anything runs
    store.forget_lost_forms()
    earlier = list(first_round(before).values())
    known = known.beginning_with(_begun(store, before))
    with ExitStack() as stack:
        shown = None if live is None else stack.enter_context(LivePage(_told(store), live))
        total = known.budget(options.variants)
        watch = stack.enter_context(Watch(total, before=earlier, live=shown))
        if shown is not None:
            watch.note(f"live: {shown.address}")
        if before:
            watch.note(_going_on(len(earlier), total))
        books = replace(books, note=watch.note)
        try:
            exploration = Exploration(
                store, program, options, target, watch, plans, begun, books, known, hands
            )
            finished = exploration.run(first_round(before))
        except KeyboardInterrupt:
            watch.note(_kept(store))
            _finish(store, plans, books, shown)
            raise
        _finish(store, plans, books, shown)
    return Run(store.folder), finished


def _going_on(done: int, total: int) -> str:
    """The line that a run says when it goes on, with `done` of `total` variants stored."""
    stored = f"going on: {done} of {max(done, total)} variants are stored and stay"
    return f"{stored}; only the front is measured again" if done >= total else stored


def _kept(store: Store) -> str:
    """The line that a run says when it is stopped: what is kept, and how to go on."""
    done = counted(len(first_round(store.records())), "variant")
    return f"stopped with {done} stored; go on with `{store.environment.resumed_by(store.folder)}`"


def _begun(store: Store, records: list[Record]) -> list[Record]:
    """The records, among `records`, of the variants that a board ran before the run began; of each,
    the one from before the front was measured again."""
    names = {*store.environment.begins}
    return [r for r in first_round(records).values() if r.variant.id in names]


def _told(store: Store) -> Told:
    """All that a report shows of a run at present."""
    return Told(
        store.records(),
        store.environment_told,
        store.peers(),
        store.lost_forms(),
        str(store.folder),
    )


def _finish(store: Store, plans: TrustedPlans, books: BookKeeping, live: LivePage | None) -> None:
    """Write the report, and the kernels of the front as files; keep the times that were measured
    again in the record book. The live page, if there is one, shows what the report shows."""
    store.settle()
    records = store.records()
    books.keep([r for r in latest(records) if r.round])
    told, file = _told(store), store.folder / "report.html"
    if live is not None:
        live.finish(told, f"{summary_line(records)}; this page is what {file} holds")
    if not records:
        return
    write_whole(file, page(told))
    with OwnFolder.opened(store.folder) as folder, folder.inner("front") as kernels:
        for stale in kernels.names():
            if stale.endswith(".cl"):
                kernels.remove(stale)
        best = front(records)
        for record, plan in zip(best, plans.all(best), strict=True):
            kernels.write(f"{record.variant.id}.cl", kernel_text(record.variant, plan))


def new_folder(name: str, under: Path = Path("runs")) -> Path:
    """The first of the folders `NAME`, `NAME-2`, … in `under` that is empty or does not exist."""
    folder = under / name
    number = 2
    while folder.exists() and any(folder.iterdir()):
        folder = under / f"{name}-{number}"
        number += 1
    return folder
