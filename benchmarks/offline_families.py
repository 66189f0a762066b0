"""Variants of every family, compiled for devices that are not here: which are compiled or refused
with a message, which spill registers, and whether the compiled code makes as many products as the
plan.

    python -m benchmarks.offline_families [--devices mali-g72,mali-g610] [--programs quickstart]
                                          [--families lift] [--variants 40] [--limit 60] [--seed 0]

Needs `explore toolchain mali`. The programs are quickstart, VGG layer 7 on an image of 28 × 28, a
depthwise and a 1×1 layer. Variants are drawn from the forms of a family in turn, as a run draws
them. `--limit` is how many seconds the compiler has for a kernel. Printed is a line for each
device, program and family: how many variants were drawn, how many were compiled, how many spill;
for how many it is known how often loops turn, and how many of these make as many products as the
plan (within 2 %; guards may leave out products with padding); and why variants failed.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from math import prod

from codegen.compile import Generated, generate
from codegen.demand_proofs import proofs
from constraints.devices import Profile, profile
from explore.building.operations import multiplications, scalings
from explore.files.named_programs import example_text
from explore.report.why_nothing import no_candidate
from explore.results.kernel_code import KernelCode
from explore.results.records import Failed, Variant
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import tasks
from explore.space.lowering import bound
from explore.toolchain.compile_kernel import CompileKernel, compile_kernel
from explore.toolchain.offline_devices import DEVICES
from explore.toolchain.toolchain import Toolchain, installed
from explore.workers.pool import Pool
from ir.core.nodes import Program
from ir.errors import IllTyped, Unsupported, UserError
from ir.parse import parse
from rewrites.families.all_families import FAMILIES

PROGRAMS = {
    "quickstart": ("quickstart", {}),
    "vgg-7, 28 × 28": ("vgg", {"C": 128, "M": 128, "W": 28, "H": 28}),
    "depthwise": ("depthwise", {"W": 28, "H": 28}),
    "1×1": ("conv1x1", {"W": 28, "H": 28}),
}
EQUAL = 0.02  # products that differ by less are the plan's
GUARDED = 0.06  # of the products, that guards may leave out: those of padding


@dataclass(slots=True)
class Row:
    """The counts of one family's variants: how many were drawn, were compiled, spilled registers,
    had code whose products could be counted, and made as many products as the plan (`equal`). For
    those that failed, the number for each reason."""

    variants: int = 0
    compiled: int = 0
    spilled: int = 0
    counted: int = 0
    equal: int = 0
    failed: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Compile variants as the arguments say, and print a row for each device, program and
    family."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--devices", default=",".join(DEVICES))
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--variants", type=int, default=40)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    toolchain = installed()
    if toolchain is None:
        raise SystemExit("no toolchain is here: explore toolchain mali")
    pool: Pool[CompileKernel, KernelCode] = Pool(
        compile_kernel, workers=2, timeout=given.limit + 10, stage="build", max_memory=4 << 30
    )
    with pool:
        for device in given.devices.split(","):
            for name in given.programs.split(","):
                file, sizes = PROGRAMS[name]
                program = parse(example_text(file), file, sizes)
                for family in given.families.split(","):
                    bench = Bench(profile(device), toolchain, pool, given.limit)
                    row = bench.row(program, family, given.variants, given.seed)
                    print(_told(device, name, family, row), flush=True)


def _told(device: str, program: str, family: str, row: Row) -> str:
    why = "; ".join(f"{n}: {reason}" for reason, n in row.failed.most_common(4))
    counts = f"{row.variants} variants, {row.compiled} compiled, {row.spilled} spill"
    products = f"{row.equal} of {row.counted} make the plan's products"
    return f"{device:10}  {program:14}  {family:10}  {counts}, {products}  {why}"


@dataclass(frozen=True, slots=True)
class Bench:
    """Compiles variants for one device (its profile) with its compiler in `toolchain`, in the
    processes of `pool`; a kernel may take up to `limit` seconds."""

    profile: Profile
    toolchain: Toolchain
    pool: "Pool[CompileKernel, KernelCode]"
    limit: float

    def row(self, program: Program, family: str, count: int, seed: int) -> Row:
        """The counts of up to `count` variants of a family for a program, drawn with `seed` and
        compiled."""
        row = Row()
        try:
            drawn = list(islice(self._drawn(program, family, count, seed), count))
        except UserError as error:
            row.failed[f"refused: {error}"] += 1
            return row
        for form, variant in drawn:
            if (generated := self._made(form, variant, row)) is not None:
                self._compiled(generated, variant, row)
        return row

    def _drawn(
        self, program: Program, family: str, count: int, seed: int
    ) -> Iterator[tuple[Derived, Variant]]:
        """The variants of a family for a program that a run of 4 · `count` variants with `seed`
        would begin with: one of each form in turn, each with its derived form. A UserError if there
        is none."""
        todo = tasks(program, self.profile, families=(family,), budget=4 * count, seed=seed)
        results = [derive(task) for task in todo]
        found = [d for d in results if isinstance(d, Derived)]
        if not any(d.variants for d in found):
            raise UserError(no_candidate(program, None, results))
        turns = zip_longest(*([(d, v) for v in d.variants] for d in found))
        return (each for turn in turns for each in turn if each is not None)

    def _made(self, form: Derived, variant: Variant, row: Row) -> Generated | None:
        """The kernels of a variant of `form`, generated and proved; None if that failed, with the
        reason counted in `row`."""
        row.variants += 1
        known = self.profile
        try:
            generated = generate(
                bound(form.lowered.program, dict(variant.parameters)),
                max_work_group=known.group_items,
                half_arithmetic=known.half_arithmetic,
                unsigned_addresses=known.unsigned_addresses,
            )
        except (Unsupported, UserError, IllTyped) as error:
            row.failed[f"emit: {error}".splitlines()[0]] += 1
            return None
        if open_ := [v for proof in proofs(generated) for v in proof.failures]:
            row.failed[f"prove: {open_[0]}"[:200]] += 1
            return None
        return generated

    def _compiled(self, generated: Generated, variant: Variant, row: Row) -> None:
        """Compile the kernels that a variant runs at each inference, and count in `row` whether
        they are compiled, spill, and make as many products as the plan."""
        launches = {k.name: k for k in generated.plan.kernels if not k.prepack}
        todo = [
            CompileKernel(
                *(n, k.source, k.global_size, k.local_size, self.toolchain, self.profile.name),
                self.limit,
            )
            for n, k in enumerate(launches.values())
        ]
        found = {[*launches][d.task.number]: d.result for d in self.pool.map(todo)}
        failed = [each for each in found.values() if isinstance(each, Failed)]
        for each in failed[:1]:
            row.failed[f"{each.stage}: {each.reason}"[:200]] += 1
        if failed:
            return
        codes = {name: code for name, code in found.items() if isinstance(code, KernelCode)}
        row.compiled += 1
        row.spilled += any(c.spills or c.fills for c in codes.values())
        if not all(c.done for c in codes.values()):
            return
        row.counted += 1
        done = sum(
            dict(c.done)["products"] * prod(launches[name].global_size) for name, c in codes.items()
        )
        kernels = [k for k in generated.kernels if k.name in codes]
        least, more = multiplications(kernels), scalings(kernels, fused=True)
        equal = least * (1 - GUARDED) <= done <= (least + more) * (1 + EQUAL)
        row.equal += equal
        if not equal:
            row.failed[f"not equal: {variant.id}: {done / max(1, least):.3f} of the products"] += 1


if __name__ == "__main__":
    main()
