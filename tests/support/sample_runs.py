"""Made-up records of runs, on which the tests of `explore` work."""

import math
import random
from dataclasses import replace

from codegen.plan import Buffer, Kernel, Plan, Role
from explore.results.records import (
    Bounds,
    Failed,
    Measured,
    Outcome,
    Peer,
    Predicted,
    Record,
    Stage,
    Step,
    Variant,
    variant_id,
)
from explore.results.run_environment import Environment

PROGRAM = """-- VGG-16, layer 7
conv(const weights : [[[[float]C]K]K]M, image : [[[float]C]W]H) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where C = 128, W = 112, H = 112, K = 3, M = 128
"""

FLOPS = 2 * 112 * 112 * 128 * 128 * 9
BOUNDS = Bounds(flops=FLOPS, io_bytes=13_400_000, peak_flops=516e9, bandwidth=21e9)
ENVIRONMENT = Environment(
    program=PROGRAM,
    name="VGG-16 layer 7",
    device="Intel(R) Xeon(R) CPU",
    platform="Intel(R) OpenCL",
    driver="2026.2",
    version="0.1.0",
    seed=3,
    options={"families": ["blocked", "lift"]},
    bounds=BOUNDS,
    started_unix_s=1.79e9,
)
PEERS = [Peer("torch (oneDNN)", 8.1e6, 15_200_000, 0.01, "channels last")]

_STORED = {(): 0, ("pad",): 6_700_000, ("pad", "im2col"): 57_000_000, ("im2win",): 22_000_000}
_REASONS: dict[Stage, tuple[str, ...]] = {
    "constrain": ("49152 bytes of local memory, 65536 are needed",),
    "emit": ("vectorized exp of half has no spelling",),
    "prove": ("the index w + 3*k of image may leave 0 .. 1605631",),
    "build": ("ptxas: too many resources requested", "took longer than 20 s"),
    "run": ("worker died with signal 11 (SIGSEGV)", "took longer than 4 s"),
    "verify": ("error 0.31 is over 0.0001",),
}


def plan(source: str, stored: tuple[str, ...] = (), name: str = "conv") -> Plan:
    views = [
        Buffer(f"stored_{view}", "float", (1024,), 4096, Role.TEMPORARY, 4096 * i)
        for i, view in enumerate(stored)
    ]
    buffers = (
        Buffer("image", "float", (112, 112, 128), 6_422_528, Role.INPUT),
        Buffer("weights", "float", (128, 3, 3, 128), 589_824, Role.CONST),
        Buffer("packed_weights", "float", (8, 128, 3, 3, 16), 589_824, Role.PACKED),
        *views,
        Buffer("result", "float", (112, 112, 128), 6_422_528, Role.OUTPUT),
    )
    kernels = (
        Kernel("pack", (128, 1, 1), (1, 1, 1), ("weights", "packed_weights"), True, source),
        Kernel(name, (896, 8, 1), (64, 1, 1), ("image", "packed_weights", "result"), False, source),
    )
    workspace = _STORED.get(stored, 0)
    return Plan(kernels, buffers, 13_434_880 + workspace, workspace)


def variant(family: str = "blocked", stored: tuple[str, ...] = (), **parameters: int) -> Variant:
    named = tuple(parameters.items())
    id = variant_id(family, named, stored)
    source = f"// {id}\n__kernel void conv(__global const float *image) {{\n" + "".join(
        f"  float acc_{i} = 0.0f;\n" for i in range(12)
    )
    return Variant(
        id=id,
        family=family,
        parameters=named,
        stored=stored,
        derivation=(
            Step("reduce f . map g = reduce (f . g)", "body.map.body", "reduce((a, (x, w)) -> …)"),
            Step("map f = join . map (map f) . split k", "body", "join(map(map(window -> …)))"),
        ),
        plan=plan(source + "}\n", stored),
        flops=FLOPS,
        traffic_bytes=20_000_000 + parameters.get("tile", 1) * 3_000_000,
        features=((("threads", 8.0), ("reuse", 3.5)),),
    )


def sample_run(count: int = 1000, seed: int = 0, predicted: bool = False) -> list[Record]:
    """`count` made-up records with every family, every stored view, every stage of failure, and a
    front that is measured again; with `predicted`, times are predictions."""
    dice = random.Random(seed)
    records: dict[str, Record] = {}
    while len(records) < count:
        family = dice.choice(["naive", "lift", "blocked", "registers"])
        stored = dice.choice(list(_STORED))
        sizes = {"tile": 2 ** dice.randrange(7), "chunk": 2 ** dice.randrange(5)}
        made = variant(family, stored, **sizes, block=dice.randrange(1, 15), v=dice.choice([4, 16]))
        at = len(records) * 0.31 + dice.random()
        outcome = Predicted(2e7 * dice.random()) if predicted else _outcome(dice, made)
        if isinstance(outcome, Failed) and outcome.stage in ("constrain", "emit"):
            made = replace(made, plan=None)
        records[made.id] = Record(made, outcome, at, 1.79e9 + at)
    return list(records.values())


def _outcome(dice: random.Random, made: Variant) -> Outcome:
    if dice.random() < 0.12:
        stage = dice.choice(list(_REASONS))
        reason = dice.choice(_REASONS[stage])
        return Failed(stage, reason, "line 7: …\n" * 3, reason.startswith("took"))
    p = dict(made.parameters)
    base = {"naive": 90e6, "lift": 30e6, "blocked": 8.6e6, "registers": 7.4e6}[made.family]
    base *= 1 + 0.25 * abs(math.log2(p["tile"] / 16)) + 0.04 * abs(p["block"] - 8)
    base *= {0: 1.25, 1: 1.0, 2: 0.93}[len(made.stored)] * math.exp(abs(dice.gauss(0, 0.18)))
    return Measured(
        time_ns=base,
        spread=abs(dice.gauss(0.01, 0.01)),
        error=1e-7 * (1 + dice.random()),
        prepack_ns=3e5,
        build_ns=8e7,
        code_bytes=24_000,
        runs_ns=tuple(base * (1 + 0.01 * k) for k in range(3)),
        stopped_early=base > 90e6,
    )


def test_a_sample_has_every_kind_of_outcome() -> None:
    stages = {r.outcome.stage for r in sample_run() if isinstance(r.outcome, Failed)}
    assert stages == set(_REASONS)
