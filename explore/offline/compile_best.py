"""The compiling of the variants that look best, in rounds: after each round, a model that learns
from the compiled kernels says anew which variants look best."""

# key: i number of a variant

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest

from codegen.plan import Kernel
from constraints.devices import Profile
from explore.offline.code_kept import keep, kept
from explore.offline.device_rates import RATES
from explore.offline.time_of_code import CodeTime, buffer_bytes, code_time
from explore.offline.working_compiler import demand_working
from explore.record_book.record_book import RecordBook
from explore.results.front import pareto
from explore.results.kernel_code import KernelCode, Refusal
from explore.results.records import Failed, Outcome, Predicted, Record, Variant, latest
from explore.search.search import Search
from explore.search.search_over import search_over
from explore.toolchain.compile_kernel import (
    LIMIT,
    Compiled,
    CompileKernel,
    Compilers,
    compile_by,
)
from explore.toolchain.running_program import BUSY
from explore.toolchain.toolchain import Toolchain
from explore.workers.pool import Pool
from explore.workers.wait_any import each_done
from ir.text.counted import counted

MEMORY = 4 << 30  # bytes that a compiler may take
UNCOUNTED = "the loops of its compiled code are not known, so no time is"
LAUNCH_AGAIN = 10.0  # seconds more than the compiler has, for the worker around it

Found = Compiled | Failed
Took = Callable[[Record], None]


@dataclass(slots=True)
class CompileBest:
    """The compiling of a run's best-looking variants for the device with this profile: `most` of
    them, by so many `workers`, each kernel once. `book` is where compiled code is kept (None:
    nowhere), `late` tells that the time is up, `known` has what was found out of kernels so far,
    `asked` counts those that were compiled here, `recalled` those that were found in the book;
    `tried` counts variants, and `failures` are those without a time."""

    toolchain: Toolchain
    profile: Profile
    most: int
    workers: int
    book: RecordBook | None
    late: Callable[[], bool]
    known: dict[Kernel, Found] = field(default_factory=dict)
    asked: int = 0
    recalled: int = 0
    tried: int = 0
    failures: list[Failed] = field(default_factory=list)

    def run(self, records: Sequence[Record], seed: int, took: Took) -> None:
        """Compile those variants of these records that look best, in rounds, and call `took` with a
        record of each that has its new outcome; at the end, with one of each other variant, with
        the time to expect by what was learned from those that were compiled. Raises a
        ToolchainFault if the toolchain ceases to work; what was compiled before stays."""
        todo = [r for r in records if isinstance(r.outcome, Predicted) and r.variant.plan]
        todo = [r for r in todo if not r.round]
        variants = [r.variant for r in todo]
        memory = [float(r.memory_bytes or 0) for r in todo]
        begin = _promising(todo, max(1, self.left(records) // 2))
        search = search_over(variants, memory, "guided", seed, self.most, None, begin, ())
        left, compiled = min(self.left(records), len(todo)), set[int]()
        with ExitStack() as stack:
            pool: Pool[CompileKernel, Compiled] = Pool(
                compile_by,
                setup=Compilers,
                workers=self.workers,
                timeout=BUSY * LIMIT + LAUNCH_AGAIN,
                stage="build",
                max_memory=MEMORY,
            )
            stack.enter_context(pool)
            while left > 0 and not self.late() and (chosen := self._round(search, left)):
                self._compile(pool, [k for i in chosen for k in running(variants[i])])
                for i in chosen:
                    outcome = self.outcome(variants[i])
                    self.tried += 1
                    self.failures += [outcome] if isinstance(outcome, Failed) else []
                    took(Record(variants[i], outcome, todo[i].elapsed_s, time.time(), 1))
                    search.tell(i, _told(outcome))
                    compiled.add(i)
                left -= len(chosen)
        for i, time_ns in enumerate(search.forecast()):
            if i not in compiled:
                took(replace(todo[i], outcome=Predicted(time_ns)))

    def left(self, records: Sequence[Record]) -> int:
        """The number of variants that are still to be compiled in a run with these records."""
        return max(0, self.most - sum(1 for r in latest(records) if r.round))

    @property
    def told(self) -> Iterator[str]:
        """Lines for the user: how many kernels were compiled, and how many variants could not be,
        with the commonest reason."""
        yield f"{counted(self.asked, 'kernel')} compiled, {self.recalled} kept before"
        if self.failures:
            ((why, count),) = Counter(f.reason for f in self.failures).most_common(1)
            tried, times = counted(self.tried, "variant"), f" ({count} times)" if count > 1 else ""
            yield f"{len(self.failures)} of {tried} have no time by their code: {why}{times}"

    def _round(self, search: Search, left: int) -> list[int]:
        return (search.next_round() or [])[:left]

    def _compile(self, pool: "Pool[CompileKernel, Compiled]", launches: Sequence[Kernel]) -> None:
        """Compile, by the pool, those of the kernels `launches` whose code is not known yet."""
        tasks: list[tuple[Kernel, CompileKernel]] = []
        for launch in dict.fromkeys(launches):
            if launch in self.known:
                continue
            task = self._task(len(tasks), launch)
            before = kept(self.book, task)
            if before is None:
                tasks.append((launch, task))
            else:
                self.known[launch] = before
                self.recalled += 1
        for done in each_done(pool, [task for _, task in tasks]):
            found = done.result
            self.known[tasks[done.task.number][0]] = found
            if isinstance(found, KernelCode):
                self.asked += 1
            else:  # by a toolchain that was broken meanwhile, each would fail
                demand_working(self.toolchain, self.profile)
            if not isinstance(found, Failed):
                keep(self.book, done.task, found)

    def _task(self, number: int, launch: Kernel) -> CompileKernel:
        size, group = launch.global_size, launch.local_size
        return CompileKernel(number, launch.source, size, group, self.toolchain, self.profile.name)

    def outcome(self, variant: Variant) -> Outcome:
        """The outcome of a variant whose kernels were compiled."""
        found = [self.known[launch] for launch in running(variant)]
        for each in found:
            match each:
                case Refusal(words, detail):
                    return Failed("build", words, detail)
                case Failed():
                    return each
        code = tuple(each for each in found if isinstance(each, KernelCode))
        times = list(self._times(variant, code))
        known = [t for t in times if t is not None]
        if len(known) < len(times):
            return Failed("build", UNCOUNTED)
        return Predicted(
            sum(t.time_ns for t in known),
            code,
            sum(t.least_ns for t in known),
            sum(t.most_ns for t in known),
        )

    def _times(self, variant: Variant, code: Sequence[KernelCode]) -> Iterator[CodeTime | None]:
        assert variant.plan is not None
        rates, cores = RATES[self.profile.name], self.profile.cores
        features = [dict(each) for each in variant.features]
        for n, (launch, made) in enumerate(zip(running(variant), code, strict=True)):
            known = features[n] if len(features) == len(code) else {}
            known = {**known, "buffer bytes": buffer_bytes(launch, variant.plan)}
            yield code_time(made, launch, known, rates, cores)


def running(variant: Variant) -> list[Kernel]:
    """The kernels that a variant runs at each inference, without those that prepare constants,
    which run once and are not compiled here."""
    assert variant.plan is not None
    return [k for k in variant.plan.kernels if not k.prepack]


def _told(outcome: Outcome) -> float | None:
    """The time in an outcome from which the search learns; None, as for a variant that failed, if
    its kernels spill registers: such variants are not proposed."""
    return outcome.time_ns if isinstance(outcome, Predicted) and not outcome.spills else None


def _promising(records: Sequence[Record], count: int) -> list[int]:
    """The numbers of at most `count` records to begin with, taken from each family in turn, as the
    estimate may be far off for a whole family. In a family, those come first that no other beats in
    predicted time and memory, then those that no other of the rest beats, and so on."""
    families = defaultdict[str, list[int]](list)
    for i, record in enumerate(records):
        families[record.variant.family].append(i)
    turns = zip_longest(*(_in_layers(records, mine, count) for mine in families.values()))
    return list(islice((i for turn in turns for i in turn if i is not None), count))


def _in_layers(records: Sequence[Record], left: list[int], count: int) -> list[int]:
    """The numbers of at most `count` of the records with the numbers `left`: first those that no
    other of them beats in predicted time and memory, then those that no other of the rest beats,
    and so on."""
    found = list[int]()

    def cost(i: int) -> tuple[float, float]:
        return records[i].time_ns or math.inf, float(records[i].memory_bytes or 0)

    while left and len(found) < count:
        layer = pareto(left, cost)
        found += layer
        left = [i for i in left if i not in {*layer}]
    return found[:count]
