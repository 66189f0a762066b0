"""Variants of every family, compiled for devices that are not here: which are compiled or refused
with a message, which spill registers, and whether the compiled code makes as many products as the
plan.

    python -m benchmarks.offline_families [--devices mali-g72,mali-g610] [--programs quickstart]
                 [--families lift] [--variants 40] [--limit 60] [--seed 0] [--out FILE] [--table]

Needs `explore toolchain mali`. The programs are quickstart, VGG layer 7 on an image of 28 × 28, a
depthwise and a 1×1 layer. Variants are drawn from the forms of a family in turn, as a run draws
them. `--limit` is how many seconds of processor time the compiler has for a kernel.

First one variant of each family is compiled for each program and device, then a second one, and so
on up to `--variants`: broken off at any time, it has tried all of them about equally often. The
results are kept in FILE as they come, a line each, and what FILE has is not compiled again. At the
end, or at once with `--table`, a line is printed for each device, program and family: how many
variants were tried, how many were compiled, how many spill; for how many it is known how often
loops turn, and how many of these make as many products as the plan (within 2 %; guards may leave
out products with padding); the fewest tuples (Bifrost) or instructions that a variant without
spills issues for a product of the plan, with its messages to memory; and why variants failed.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from itertools import islice, product, zip_longest
from math import prod
from pathlib import Path

from codegen.compile import Generated, generate
from codegen.demand_proofs import proofs
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
    compiled). `products` are those of the compiled code, None if it is not known how often loops
    turn; `slots` are the tuples (Bifrost) or instructions that are issued, and `messages` those to
    memory. The plan makes `planned` products, of which guards may leave out those with padding,
    all but the part `real`; and `scaled` more by powers of 2, which compilers may make as sums."""

    place: Place
    number: int
    variant: str
    key: str
    failed: str = ""
    spills: bool = False
    products: float | None = None
    slots: float = 0.0
    messages: float = 0.0
    planned: int = 0
    scaled: int = 0
    real: float = 1.0
    seconds: float = 0.0  # by the clock

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
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("offline_families.jsonl"))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    toolchain = installed()
    if toolchain is None:
        raise SystemExit("no toolchain is here: explore toolchain mali")
    names = (given.programs.split(","), given.families.split(","), given.devices.split(","))
    places = [Place(device, p, family) for p, family, device in product(*names)]
    bench = Bench(toolchain, given.limit, given.seed, given.variants, Kept(given.out))
    if not given.table:
        pool: Pool[CompileKernel, KernelCode] = Pool(
            *(compile_by,), setup=Compilers, workers=1, timeout=BUSY * given.limit + 60,
            stage="build", max_memory=4 << 30,
        )  # fmt: skip
        with pool:
            for number, place in product(range(given.variants), places):
                bench.attempt(place, number, pool)
    for place in places:
        print(_told(place, bench.results(place)), flush=True)


def _told(place: Place, results: "Results") -> str:
    title = f"{place.device:10}  {place.program:14}  {place.family:13}"
    if results.refused:
        return f"{title}  refused: {results.refused}"
    every = results.tried
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

    def add(self, found: Tried) -> None:
        self._found[found.key] = found
        with self._file.open("a", encoding="utf-8") as out:
            out.write(f"{found.line()}\n")


@dataclass(slots=True)
class Results:
    """The results of one place: the reason if the family refuses the program ("" if it does not),
    the part of the program's products that is not with padding, the variants that are drawn, and
    what came of those that were tried."""

    refused: str = ""
    real: float = 1.0
    drawn: list[tuple[Derived, Variant]] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)


@dataclass(slots=True)
class Bench:
    """The compiling of up to `variants` variants of each place, drawn with `seed`, by `toolchain`;
    a kernel may take `limit` seconds of processor time. Results go to `kept`."""

    toolchain: Toolchain
    limit: float
    seed: int
    variants: int
    kept: Kept
    places: dict[Place, Results] = field(default_factory=dict)

    def attempt(self, place: Place, number: int, pool: "Pool[CompileKernel, KernelCode]") -> None:
        """Compile variant `number` of a place, if there is one and its result is not known."""
        drawn = self.drawn(place).drawn
        if number >= len(drawn):
            return
        begun = time.monotonic()
        one = self.one(place, number)
        if (found := one.known(self.kept)) is None:
            found = one.run(pool, begun)
            self.kept.add(found)
        self.places[place].tried.append(found)

    def one(self, place: Place, number: int) -> "_Attempt":
        """Variant `number` of a place, generated."""
        known = self.drawn(place)
        by = self.toolchain, self.limit
        return _Attempt(place, number, known.real, known.drawn[number], by)

    def results(self, place: Place) -> Results:
        """The results of a place, those in the file too."""
        found = self.drawn(place)
        if not found.tried:
            for number in range(len(found.drawn)):
                if (known := self.one(place, number).known(self.kept)) is not None:
                    found.tried.append(known)
        return found

    def drawn(self, place: Place) -> Results:
        """The results of a place, whose variants are drawn the first time."""
        if place not in self.places:
            self.places[place] = Results()
            file, sizes = PROGRAMS[place.program]
            program = parse(example_text(file), file, sizes)
            known = products(program)
            self.places[place].real = 1.0 if known is None else known.real
            try:
                self.places[place].drawn = list(islice(self._draw(program, place), self.variants))
            except UserError as error:
                self.places[place].refused = " ".join(str(error).split())
        return self.places[place]

    def _draw(self, program: Program, place: Place) -> Iterator[tuple[Derived, Variant]]:
        """The variants of a family for a program that a run of four times as many variants would
        begin with: one of each form in turn, each with its derived form. A UserError if there is
        none."""
        known, budget = profile(place.device), 4 * self.variants
        todo = tasks(program, known, families=(place.family,), budget=budget, seed=self.seed)
        results = [derive(task) for task in todo]
        found = [d for d in results if isinstance(d, Derived)]
        if not any(d.variants for d in found):
            raise UserError(no_candidate(program, None, results))
        turns = zip_longest(*([(d, v) for v in d.variants] for d in found))
        return (each for turn in turns for each in turn if each is not None)


class _Attempt:
    """One variant, number `number` of a place, with its kernels generated and proved."""

    def __init__(
        self,
        place: Place,
        number: int,
        real: float,
        drawn: tuple[Derived, Variant],
        by: tuple[Toolchain, float],
    ) -> None:
        self.place, self.number, self.real = place, number, real
        form, self.variant = drawn
        self.toolchain, self.limit = by
        self.made = self._generated(form, profile(place.device))

    def known(self, kept: Kept) -> Tried | None:
        """The result that was kept of the variant; its plan is counted anew."""
        found = kept.find(self.key())
        return found and self.counted(found)

    def counted(self, found: Tried) -> Tried:
        """The result with the numbers of products of the plan."""
        if isinstance(self.made, str):
            return found
        names = {launch.name for launch in self.made.plan.kernels if not launch.prepack}
        kernels = [k for k in self.made.kernels if k.name in names]
        planned = multiplications(kernels, taken=True)
        scaled = scalings(kernels, fused=True, taken=True)
        return replace(found, planned=planned, scaled=scaled, real=self.real)

    def key(self) -> str:
        parts = [asdict(self.place), self.variant.id]
        parts += [self.made] if isinstance(self.made, str) else map(key_of, self.tasks(self.made))
        return sha256(json.dumps(parts).encode()).hexdigest()

    def run(self, pool: "Pool[CompileKernel, KernelCode]", begun: float) -> Tried:
        """The result of the variant: its kernels, all that are run at each inference, are
        compiled by the pool."""
        blank = Tried(self.place, self.number, self.variant.id, self.key())
        if isinstance(self.made, str):
            return replace(blank, failed=self.made)
        found = {d.task.number: d.result for d in pool.map(self.tasks(self.made))}
        took = round(time.monotonic() - begun, 1)
        for each in found.values():
            if isinstance(each, Failed):
                return replace(blank, failed=f"{each.stage}: {each.reason}"[:300], seconds=took)
        launches = self.made.plan.kernels
        codes = {launches[n]: c for n, c in found.items() if isinstance(c, KernelCode)}
        spills = any(c.spills or c.fills for c in codes.values())
        done = replace(self.counted(blank), spills=spills, seconds=took)
        if not all(c.done for c in codes.values()):
            return done

        def total(of: str) -> float:
            """The sum of a count over all work-items of all kernels."""
            return sum(dict(c.done).get(of, 0.0) * prod(k.global_size) for k, c in codes.items())

        slots = total("tuples") or total("instructions")
        return replace(done, products=total("products"), slots=slots, messages=total("messages"))

    def tasks(self, made: Generated) -> list[CompileKernel]:
        return [
            CompileKernel(
                *(n, k.source, k.global_size, k.local_size, self.toolchain, self.place.device),
                self.limit,
            )
            for n, k in enumerate(made.plan.kernels)
            if not k.prepack
        ]

    def _generated(self, form: Derived, known: Profile) -> Generated | str:
        """The variant's kernels, generated and proved; the stage and reason if that failed."""
        try:
            generated = generate(
                bound(form.lowered.program, dict(self.variant.parameters)),
                max_work_group=known.group_items,
                half_arithmetic=known.half_arithmetic,
                byte_addresses=known.byte_addresses,
            )
        except (Unsupported, UserError, IllTyped) as error:
            return f"emit: {error}".splitlines()[0]
        if open_ := [v for proof in proofs(generated) for v in proof.failures]:
            return f"prove: {open_[0]}"[:300]
        return generated


if __name__ == "__main__":
    main()
