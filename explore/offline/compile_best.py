"""The compiling of the variants that look best, in rounds: after each round, a model that learns
from the compiled kernels says anew which variants look best."""

# key: i number of a variant

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from codegen.plan import Kernel
from constraints.devices import Profile
from explore.offline.code_kept import keep, kept
from explore.offline.device_rates import RATES
from explore.offline.time_of_code import CodeTime, buffer_bytes, code_time
from explore.record_book.record_book import RecordBook
from explore.results.front import pareto
from explore.results.kernel_code import KernelCode
from explore.results.records import Failed, Outcome, Predicted, Record, Variant
from explore.search.search import Search
from explore.search.search_over import search_over
from explore.toolchain.compile_kernel import LIMIT, CompileKernel, Compilers, compile_by
from explore.toolchain.running_program import BUSY
from explore.toolchain.toolchain import Toolchain
from explore.workers.pool import Pool

MEMORY = 4 << 30  # bytes that a compiler may take
LAUNCH_AGAIN = 10.0  # seconds more than the compiler has, for the worker around it

Found = KernelCode | Failed
Took = Callable[[Record], None]


@dataclass(slots=True)
class CompileBest:
    """The compiling of a run's best-looking variants for the device with this profile: `most` of
    them, by so many `workers`, each kernel once. `book` is where compiled code is kept (None:
    nowhere), `late` tells that the time is up, `known` has the kernels compiled so far, and `asked`
    counts those that were not found in the book."""

    toolchain: Toolchain
    profile: Profile
    most: int
    workers: int
    book: RecordBook | None
    late: Callable[[], bool]
    known: dict[Kernel, Found] = field(default_factory=dict)
    asked: int = 0  # kernels that were compiled here, not found in the book

    def run(self, records: Sequence[Record], seed: int, took: Took) -> None:
        """Compile those variants of these records that look best, in rounds, and call `took` with a
        record of each that has its new outcome."""
        todo = [r for r in records if isinstance(r.outcome, Predicted) and r.variant.plan]
        variants = [r.variant for r in todo]
        memory = [float(r.memory_bytes or 0) for r in todo]
        begin = _promising(todo, max(1, self.most // 2))
        search = search_over(variants, memory, "guided", seed, self.most, None, begin, ())
        left = min(self.most, len(todo))
        with ExitStack() as stack:
            pool: Pool[CompileKernel, KernelCode] = Pool(
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
                    outcome = self._outcome(variants[i])
                    took(Record(variants[i], outcome, todo[i].elapsed_s, time.time(), 1))
                    search.tell(i, _told(outcome))
                left -= len(chosen)

    def _round(self, search: Search, left: int) -> list[int]:
        return (search.next_round() or [])[:left]

    def _compile(self, pool: "Pool[CompileKernel, KernelCode]", launches: Sequence[Kernel]) -> None:
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
        for done in pool.map([task for _, task in tasks]):
            self.asked += 1
            self.known[tasks[done.task.number][0]] = done.result
            keep(self.book, done.task, done.result)

    def _task(self, number: int, launch: Kernel) -> CompileKernel:
        size, group = launch.global_size, launch.local_size
        return CompileKernel(number, launch.source, size, group, self.toolchain, self.profile.name)

    def _outcome(self, variant: Variant) -> Outcome:
        """The outcome of a variant whose kernels were compiled."""
        found = [self.known[launch] for launch in running(variant)]
        for each in found:
            if isinstance(each, Failed):
                return each
        code = tuple(each for each in found if isinstance(each, KernelCode))
        times = list(self._times(variant, code))
        if not all(t is not None for t in times):
            rough = sum(dict(kernel).get("estimate", 0.0) for kernel in variant.features)
            return Predicted(rough, code)
        known = [t for t in times if t is not None]
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
