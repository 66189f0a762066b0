"""Variants of every family, compiled for devices that are not here: which are compiled or refused
with a message, which spill registers, and whether the compiled code makes as many products as the
plan.

    python -m benchmarks.offline_families [--devices mali-g72,mali-g610] [--programs quickstart]
                 [--families lift] [--variants 40] [--limit 60] [--jobs 1] [--seed 0] [--out FILE]
                 [--table]

Needs `explore toolchain mali`. The programs are quickstart, VGG layer 7 on an image of 28 × 28, a
depthwise and a 1×1 layer. Variants are drawn from the forms of a family in turn, as a run draws
them for a device with the least of each of these devices' limits (for each device apart if it has room
for none): a variant is derived, generated and proved once, and its kernels are compiled for all
devices, equal texts once. `--limit` is how
many seconds of processor time a compiler has for a kernel, `--jobs` how many compile at once.

First one variant of each family is compiled for each program, then a second one, and so on up to
`--variants`: broken off at any time, it has tried all of them about equally often. The results are
kept in FILE as they come, a line each, and what FILE has is not compiled again. At the end a line
is printed for each device, program and family: how many variants were tried, how many were
compiled, how many spill; for how many it is known how often loops turn, and how many of these make
as many products as the plan (within 2 %; guards may leave out products with padding); the fewest
tuples (Bifrost) or instructions that a variant without spills issues for a product of the plan,
with its messages to memory; and why variants failed. `--table` prints only what FILE has.
"""

import argparse
import json
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice, product, zip_longest
from math import prod
from pathlib import Path
from typing import Any

from codegen.compile import generate
from codegen.demand_proofs import proofs
from codegen.plan import Kernel as Launch
from constraints.devices import Profile, profile
from explore.bounds.products_of_program import products
from explore.building.operations import multiplications, scalings
from explore.files.named_programs import example_text
from explore.offline.code_kept import key_of
from explore.report.why_nothing import no_candidate
from explore.results.kernel_code import KernelCode
from explore.results.records import Failed, Variant
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import tasks
from explore.space.lowering import bound
from explore.toolchain.compile_kernel import CompileKernel, Compilers, compile_by
from explore.toolchain.offline_devices import DEVICES
from explore.toolchain.running_program import BUSY
from explore.toolchain.toolchain import Toolchain, installed
from explore.workers.pool import Pool
from ir.core.nodes import Program
from ir.errors import IllTyped, Unsupported, UserError
from ir.parse import parse
from rewrites.families.all_families import FAMILIES

PROGRAMS = {
    "quickstart": ("quickstart", {}),
    "vgg-7 at 28 × 28": ("vgg", {"C": 128, "M": 128, "W": 28, "H": 28}),
    "depthwise": ("depthwise", {"W": 28, "H": 28}),
    "1×1": ("conv1x1", {"W": 28, "H": 28}),
}
EQUAL = 0.02  # products that differ by less are the plan's
AHEAD = 8  # kernels that wait for a compiler while others are generated and proved

Compiling = Pool[CompileKernel, KernelCode]
Code = KernelCode | Failed


@dataclass(frozen=True, slots=True)
class Source:
    """A program and a family, by name."""

    program: str
    family: str


@dataclass(frozen=True, slots=True)
class Place:
    """A device's profile, a program and a family, by name."""

    device: str
    program: str
    family: str


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of one variant, number `number` of its place. `key` is the hash of its texts and
    of all else that the result depends on. `failed` tells the stage and the reason ("" if all was
    compiled), `refused` the reason of a family that does not take the program. `products` are those
    of the compiled code, None if it is not known how often loops turn; `slots` are the tuples
    (Bifrost) or instructions that are issued, and `messages` those to memory. The plan makes
    `planned` products, of which guards may leave out those with padding, all but the part `real`;
    and `scaled` more by powers of 2, which compilers may make as sums."""

    place: Place
    number: int
    variant: str
    key: str
    failed: str = ""
    refused: str = ""
    spills: bool = False
    products: float | None = None
    slots: float = 0.0
    messages: float = 0.0
    planned: int = 0
    scaled: int = 0
    real: float = 1.0
    form: str = ""
    parameters: str = ""

    @property
    def equal(self) -> bool:
        """True if the compiled code makes as many products as the plan."""
        least, most = self.planned * self.real, self.planned + self.scaled
        done = self.products
        return done is not None and least * (1 - EQUAL) <= done <= most * (1 + EQUAL)

    def line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def tried_from(line: str) -> Tried:
    read = json.loads(line)
    return Tried(**{**read, "place": Place(**read["place"])})


def main() -> None:
    """Compile variants as the arguments say, and print a line for each device, program and
    family."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--devices", default=",".join(DEVICES))
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--variants", type=int, default=40)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("offline_families.jsonl"))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    devices = given.devices.split(",")
    sources = [Source(*s) for s in product(given.programs.split(","), given.families.split(","))]
    kept = Kept(given.out)
    if not given.table:
        compile_all(given, devices, sources, kept)
    for source, device in product(sources, devices):
        place = Place(device, source.program, source.family)
        if found := kept.at(place):
            print(_told(place, found), flush=True)


def compile_all(
    given: argparse.Namespace, devices: Sequence[str], sources: Sequence[Source], kept: "Kept"
) -> None:
    """Compile the variants of the sources for the devices, and keep the results."""
    toolchain = installed()
    if toolchain is None:
        raise SystemExit("no toolchain is here: explore toolchain mali")
    with ExitStack() as stack:
        pool: Compiling = Pool(
            *(compile_by,), setup=Compilers, workers=given.jobs, timeout=BUSY * given.limit + 60,
            stage="build", max_memory=4 << 30,
        )  # fmt: skip
        stack.enter_context(pool)
        queue = Queue(pool, kept)
        drawings = Drawings(devices, given.seed, given.variants)
        for number, source in product(range(given.variants), sources):
            for drawing in drawings.of(source):
                for attempt in drawing.attempts(number, toolchain, given.limit):
                    queue.put(attempt)
        queue.finish()


def _told(place: Place, every: "Sequence[Tried]") -> str:
    title = f"{place.device:10}  {place.program:16}  {place.family:13}"
    if every[0].refused:
        return f"{title}  refused: {every[0].refused}"
    compiled = [t for t in every if not t.failed]
    counted = [t for t in compiled if t.products is not None]
    lean = [
        (t.slots / t.planned, t.messages / t.planned) for t in counted if t.planned and not t.spills
    ]
    best = "best {:.2f} and {:.3f} a product".format(*min(lean)) if lean else "no best"
    why = Counter(t.failed[:200] for t in every if t.failed)
    why.update(
        f"not equal: {(t.products or 0) / max(1, t.planned):.3f}" for t in counted if not t.equal
    )
    return (
        f"{title}  {len(every)} tried, {len(compiled)} compiled, "
        f"{sum(t.spills for t in compiled)} spill, "
        f"{sum(t.equal for t in counted)} of {len(counted)} make the plan's products, {best}  "
        + "; ".join(f"{n}: {reason}" for reason, n in why.most_common(4))
    )


class Kept:
    """The results in a file, by the key of their variant; new ones are appended."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        self._found = {t.key: t for t in map(tried_from, filter(None, lines))}

    def find(self, key: str) -> Tried | None:
        return self._found.get(key)

    def at(self, place: Place) -> list[Tried]:
        """The results of a place."""
        return [t for t in self._found.values() if t.place == place]

    def add(self, found: Tried) -> None:
        """Keep a result, unless the file has the same already."""
        if self._found.get(found.key) == found:
            return
        self._found[found.key] = found
        with self._file.open("a", encoding="utf-8") as out:
            out.write(f"{found.line()}\n")


@dataclass(slots=True)
class Queue:
    """The variants whose kernels wait for a compiler of `pool`, and the code of those that were
    compiled (`codes`, by the key of their task); results go to `kept`."""

    pool: Compiling
    kept: Kept
    begun: deque["Attempt"] = field(default_factory=deque)
    asked: dict[int, str] = field(default_factory=dict)  # keys by the numbers of tasks
    codes: dict[str, Code] = field(default_factory=dict)

    def put(self, attempt: "Attempt") -> None:
        """Have a variant's kernels compiled, unless its result is known."""
        if (known := self.kept.find(attempt.key)) is not None:
            self.kept.add(attempt.counted(known))
            return
        if isinstance(attempt.text, str) or attempt.text.wrong:
            self.kept.add(attempt.blank)
            return
        waited = {*self.asked.values(), *self.codes}
        for key, task in attempt.tasks.items():
            if key not in waited:
                number = len(self.asked)
                self.asked[number] = key
                self.pool.submit(replace(task, number=number))
        self.begun.append(attempt)
        while self.pool.pending > AHEAD:
            self._take()
        self._keep_done()

    def finish(self) -> None:
        while self.pool.pending:
            self._take()

    def _take(self) -> None:
        for done in self.pool.results():
            self.codes[self.asked[done.task.number]] = done.result
        self._keep_done()

    def _keep_done(self) -> None:
        """Keep the results of the variants that were begun first, as far as all their kernels are
        compiled."""
        while self.begun and all(key in self.codes for key in self.begun[0].tasks):
            attempt = self.begun.popleft()
            self.kept.add(attempt.result(self.codes))


@dataclass(slots=True)
class Drawings:
    """The variants of each source that are tried on `devices`: the same on all, or, if none suits
    all devices, each device's own."""

    devices: Sequence[str]
    seed: int
    variants: int
    found: dict[Source, list["Drawing"]] = field(default_factory=dict)

    def of(self, source: Source) -> "list[Drawing]":
        if source not in self.found:
            every = Drawing(source, self.devices, self.seed, self.variants)
            alone = [Drawing(source, [name], self.seed, self.variants) for name in self.devices]
            self.found[source] = alone if isinstance(every.drawn, str) else [every]
        return self.found[source]


class Drawing:
    """The variants of a family for a program (`source`) that a run of four times as many variants
    would begin with, one of each form in turn, for a device on which all that is drawn suits all
    `devices`."""

    def __init__(self, source: Source, devices: Sequence[str], seed: int, variants: int) -> None:
        self.source, self.devices, self.seed, self.variants = source, devices, seed, variants
        self.profile = least([profile(name) for name in devices])
        file, sizes = PROGRAMS[source.program]
        self.program = parse(example_text(file), file, sizes)

    @cached_property
    def real(self) -> float:
        """The part of the program's products that is not with padding."""
        known = products(self.program)
        return 1.0 if known is None else known.real

    @cached_property
    def drawn(self) -> list[tuple[Derived, Variant]] | str:
        """The variants, each with its derived form; or why there are none."""
        try:
            return list(islice(self._draw(self.program), self.variants))
        except UserError as error:
            return " ".join(str(error).split())

    def attempts(self, number: int, toolchain: Toolchain, limit: float) -> "Iterator[Attempt]":
        """The compiling of variant `number` for each device; nothing if there are fewer."""
        drawn = self.drawn
        if number < (1 if isinstance(drawn, str) else len(drawn)):
            text = drawn if isinstance(drawn, str) else Text(*drawn[number], self.profile)
            for device in self.devices:
                place = Place(device, self.source.program, self.source.family)
                yield Attempt(place, number, self.real, text, toolchain, limit)

    def _draw(self, program: Program) -> Iterator[tuple[Derived, Variant]]:
        families, budget = (self.source.family,), 4 * self.variants
        todo = tasks(program, self.profile, families=families, budget=budget, seed=self.seed)
        results = [derive(task) for task in todo]
        found = [d for d in results if isinstance(d, Derived)]
        if not any(d.variants for d in found):
            raise UserError(no_candidate(program, None, results))
        turns = zip_longest(*([(d, v) for v in d.variants] for d in found))
        return (each for turn in turns for each in turn if each is not None)


class Text:
    """A variant of a form, with its kernels generated for a device with this profile."""

    def __init__(self, form: Derived, variant: Variant, known: Profile) -> None:
        self.variant = variant
        self.failed, self.made = "", None
        try:
            self.made = generate(
                bound(form.lowered.program, dict(variant.parameters)),
                max_work_group=known.group_items,
                half_arithmetic=known.half_arithmetic,
                byte_addresses=known.byte_addresses,
            )
        except (Unsupported, UserError, IllTyped) as error:
            self.failed = f"emit: {error}".splitlines()[0]

    @cached_property
    def wrong(self) -> str:
        """The stage and reason if the kernels were not generated or not proved; "" if they were."""
        if self.made is None:
            return self.failed
        open_ = [v for proof in proofs(self.made) for v in proof.failures]
        return f"prove: {open_[0]}"[:300] if open_ else ""

    @property
    def launches(self) -> list[Launch]:
        """The launches of an inference."""
        return [] if self.made is None else [k for k in self.made.plan.kernels if not k.prepack]

    @cached_property
    def planned(self) -> dict[str, int]:
        """The numbers of products of the plan, by the name of the field of `Tried`."""
        if self.made is None:
            return {}
        names = {launch.name for launch in self.launches}
        kernels = [k for k in self.made.kernels if k.name in names]
        return {
            "planned": multiplications(kernels, taken=True),
            "scaled": scalings(kernels, fused=True, taken=True),
        }


@dataclass(slots=True)
class Attempt:
    """The compiling of a variant, number `number` of a place, for the place's device; `text` says
    why if the family refuses the program."""

    place: Place
    number: int
    real: float
    text: Text | str
    toolchain: Toolchain
    limit: float
    tasks: dict[str, CompileKernel] = field(init=False)  # by their keys
    key: str = field(init=False)

    def __post_init__(self) -> None:
        launches = [] if isinstance(self.text, str) else self.text.launches
        every = [self._task(launch) for launch in launches]
        self.tasks = {key_of(task): task for task in every}
        known = self.text if isinstance(self.text, str) else self.text.variant.id
        self.key = sha256(json.dumps([asdict(self.place), known, *self.tasks]).encode()).hexdigest()

    def _task(self, launch: Launch) -> CompileKernel:
        size, group = launch.global_size, launch.local_size
        device = self.place.device
        return CompileKernel(0, launch.source, size, group, self.toolchain, device, self.limit)

    @property
    def blank(self) -> Tried:
        """The result before anything is compiled."""
        if isinstance(self.text, str):
            return Tried(self.place, self.number, "", self.key, refused=self.text)
        made = self.text.variant
        parameters = " ".join(f"{p}={n}" for p, n in made.parameters)
        return Tried(
            *(self.place, self.number, made.id, self.key, self.text.wrong),
            form=made.form, parameters=parameters,
        )  # fmt: skip

    def counted(self, found: Tried) -> Tried:
        """The result with the numbers of products of the plan."""
        if isinstance(self.text, str):
            return found
        return replace(found, **self.text.planned, real=self.real)

    def result(self, codes: Mapping[str, Code]) -> Tried:
        """The result, from the code of all kernels."""
        found = [codes[key] for key in self.tasks]
        for each in found:
            if isinstance(each, Failed):
                return replace(self.blank, failed=f"{each.stage}: {each.reason}"[:300])
        assert isinstance(self.text, Text)
        made = [codes[key_of(self._task(launch))] for launch in self.text.launches]
        known = [code for code in made if isinstance(code, KernelCode)]
        spills = any(c.spills or c.fills for c in known)
        done = replace(self.counted(self.blank), spills=spills)
        if not all(c.done for c in known):
            return done

        def total(of: str) -> float:
            """The sum of a count over all work-items of all kernels."""
            return sum(
                dict(c.done).get(of, 0.0) * prod(k.global_size)
                for k, c in zip(self.text.launches, known, strict=True)
            )

        slots = total("tuples") or total("instructions")
        return replace(done, products=total("products"), slots=slots, messages=total("messages"))


def least(known: Sequence[Profile]) -> Profile:
    """The profile with the least of each of these profiles' limits."""
    names = [f.name for f in fields(Profile) if f.name not in ("name", "instructions")]
    limits = {name: _least([getattr(p, name) for p in known]) for name in names}
    shared = {*known[0].instructions}.intersection(*(p.instructions for p in known))
    return replace(known[0], instructions=tuple(sorted(shared)), **limits)


def _least(values: Sequence[Any]) -> Any:
    """The least of several numbers, or of each place of several tuples of equal length."""
    if isinstance(values[0], tuple):
        return tuple(map(min, zip(*values, strict=True)))
    return min(values)


if __name__ == "__main__":
    main()
