"""The generated tiled matrix product, compared with the same kernel written by hand.

    python -m benchmarks.matmul [--device D] [--size 1024]

Both kernels have tiles of 64 × 128, chunks of 16, and 8 × 8 results a work-item. Each is timed with
one local tile of each matrix, and with two, of which one is loaded while the other is used. All
take turns in one process. Also printed: how long emission and proof of a generated kernel take.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from codegen.compile import Generated, generate
from codegen.demand_proofs import demand_proofs
from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.proof.prove import prove
from codegen.runtime.session import choose, open_device
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.parse import parse

HERE = Path(__file__).parent
FORMS = {1: "flipped along", 2: "ahead flipped along"}  # by the halves of a local tile
TILE = {"lx": 16, "ly": 8, "tr": 2, "v": 4, "tc": 8, "k": 16}
TILES = {1: "one tile", 2: "two halves, loaded ahead"}
TURNS = 15


def by_hand(n: int, halves: int) -> Plan:
    sizes = f"#define HALVES {halves}\n#define M {n}\n#define N {n}\n#define K {n}\n"
    source = sizes + (HERE / "matmul_by_hand.cl").read_text()
    square = [
        Buffer(name, "float", (n, n), 4 * n * n, role)
        for name, role in (("a", Role.INPUT), ("b", Role.INPUT), ("out", Role.OUTPUT))
    ]
    items = (n // 128 * 16, n // 64 * 8, 1)
    launch = Kernel("matmul_by_hand", items, (16, 8, 1), ("a", "b", "out"), False, source)
    return Plan((launch,), tuple(square), 12 * n * n, 0)


def lowered(n: int, halves: int) -> Program:
    source = (HERE.parent / "examples" / "matmul.lift").read_text()
    program = parse(source, set={"M": n, "N": n, "K": n})
    return bound(lowering(program, "blocked", FORMS[halves]).program, TILE)


def generated(program: Program) -> Generated:
    return generate(program, max_work_group=1024)


def milliseconds(work: Callable[[], object], times: int = 9) -> float:
    """The median processor time of a call of `work`, in milliseconds, over `times` calls; processor
    time, as other programs on the machine do not count in it."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(1e3 * (time.process_time() - start))
    return statistics.median(taken)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device")
    options.add_argument("--size", type=int, default=1024)
    given = options.parse_args()
    n: int = given.size
    session = open_device(choose(given.device))
    terms = {halves: lowered(n, halves) for halves in FORMS}
    made = {halves: generated(term) for halves, term in terms.items()}
    for each in made.values():
        demand_proofs(each)
    random = np.random.default_rng(0)
    inputs = {x: random.integers(-3, 4, (n, n)).astype(np.float32) for x in "ab"}
    programs = {}
    for halves in FORMS:
        programs["by hand", halves] = session.build(by_hand(n, halves))
        programs["generated", halves] = session.build(made[halves].plan)
    for which, program in programs.items():
        assert np.array_equal(program(inputs), inputs["a"] @ inputs["b"]), which
    times: dict[tuple[str, int], list[float]] = {name: [] for name in programs}
    for _ in range(TURNS):
        for which, program in programs.items():
            times[which].append(program.time(inputs, runs=3, warmup=1).median_ns)
    print(f"{session.device.name}: {n} × {n} × {n}")
    for (name, halves), taken in times.items():
        low, middle, high = np.percentile(taken, (25, 50, 75))
        spread = f"({low / 1e6:.3f}–{high / 1e6:.3f})"
        ratio = statistics.median(times["by hand", halves]) / middle
        print(
            f"{name:10} {TILES[halves]:24} {middle / 1e6:8.3f} ms {spread}"
            f" {2 * n**3 / middle:9.1f} GFLOP/s  by hand / this = {ratio:.3f}"
        )
    for halves, term in terms.items():
        emission = milliseconds(partial(generated, term))
        proof = sum(milliseconds(partial(prove, kernel)) for kernel in made[halves].kernels)
        print(f"{TILES[halves]:24} emission {emission:5.1f} ms  proof {proof:5.1f} ms")


if __name__ == "__main__":
    main()
