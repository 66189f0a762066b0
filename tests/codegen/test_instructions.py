"""Tests of kernels with instructions such as mma_tf32: they are right where the instruction is
emulated, and refused where only some lanes of a sub-group come to it.

The text of such a kernel is the same on a device with the instruction, except the body of the one
function that emulates it here.
"""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.index.condition import less
from codegen.index.index import constant, var
from codegen.plan import Plan
from codegen.proof.prove import prove
from codegen.proof.verdicts import Kind as About
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.kernel_values import Apply, Build, Call, Kind, Load
from codegen.tree.statements import Block, For, If, Kernel, Statement, Store, calls
from ir import Program, Unsupported, parse
from ir.meaning.inputs import shape_of
from ir.meaning.interpret import evaluate

# A sub-group makes tiles of 16 rows and 8 columns, eight steps at a time. The helpers say in the
# language how the operands lie.
LIES = """
a_lanes(p) = asVector(4, flatten(map(x -> map(y -> transpose(y), transpose(map(y -> transpose(y),
  x))), transpose(split(8, map(r -> split(4, r), transpose(p)))))))
b_lanes(q) = asVector(2, flatten(map(r -> transpose(split(4, r)), transpose(q))))
c_matrix(c) = map(r -> join(r), join(transpose(map(x -> transpose(x), split(4, split(2, split(2,
  asScalar(c))))))))
zeros(n) = mapLocal(0)(v -> v, asVector(4, generate(n, i -> 0.0)))
"""
PRODUCT = f"""{LIES}
product(a : [[float]K]M, b : [[float]K]N) =
  join(map(tiles -> map(row -> join(row), transpose(tiles)),
    mapWorkgroup(1)(rows ->
      mapWorkgroup(0)(columns ->
        c_matrix(reduceSeq(zeros(128),
          (acc, (p, q)) -> mma_tf32(a_lanes(p), b_lanes(q), acc),
          zip(split(8, transpose(rows)), split(8, transpose(columns))))),
        split(8, b)),
      split(16, a))))
where M = 48, N = 24, K = 40
"""
SEVERAL = f"""{LIES}
batch(a : [[[float]8]16]B, b : [[[float]8]8]B) =
  mapWorkgroup(0)((p, q) ->
      join(mapLocal(1)((r, s) ->
        c_matrix(mma_tf32(a_lanes(transpose(r)), b_lanes(transpose(s)), zeros(128))),
      zip(p, q))),
    zip(split(3, a), split(3, b)))
where B = 6
"""


def inputs(p: Program, whole: bool) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    shapes = {v.var.name: shape_of(v.var.type) for v in p.params}
    if whole:  # eleven bits hold them, and a float the sums
        return {n: random.integers(-99, 99, s).astype(np.float32) for n, s in shapes.items()}
    return {n: random.uniform(-1, 1, s).astype(np.float32) for n, s in shapes.items()}


def run(session: Session, p: Program, made: Generated, data: dict[str, np.ndarray]) -> np.ndarray:
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    return np.asarray(session.build(made.plan, checking=True)(data))


@pytest.mark.parametrize("text", [PRODUCT, SEVERAL], ids=["product", "batch"])
def test_whole_numbers_come_out_exactly(session: Session, text: str) -> None:
    p = parse(text)
    made, data = generate(p), inputs(p, whole=True)
    assert prove(made.kernels[0]).ok, prove(made.kernels[0]).summary()
    assert np.array_equal(run(session, p, made, data), np.asarray(evaluate(p, data)))


def test_other_numbers_lose_what_is_known_and_not_more(session: Session) -> None:
    p = parse(PRODUCT)
    data = inputs(p, whole=False)
    out, exact = run(session, p, generate(p), data), np.asarray(evaluate(p, data))
    (call,) = {c.instruction for c in calls(generate(p).kernels[0])}
    lost = np.linalg.norm(out - exact) / np.linalg.norm(exact)
    assert 2.0**-13 < lost < call.rounding * 2.0**-23


def test_the_text_has_the_instruction_and_its_emulation() -> None:
    text = generate(parse(PRODUCT)).plan.source
    assert "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" in text
    assert "sub_group_shuffle" in text
    assert text.count("SUB_GROUP_OF(32)") == 1


def test_a_group_of_other_lanes_is_refused_in_words() -> None:
    copied = "(let t = toLocal(mapLocal(0)(x -> x, join(rows))) zeros(128)),"
    text = PRODUCT.replace("zeros(128),", copied)
    with pytest.raises(Unsupported, match="carried out by 32 lanes: expected as many work-items"):
        generate(parse(text))


# ---- planted faults: each must be refused


def changed(kernel: Kernel, change: Callable[[Store], Statement]) -> Kernel:
    """The kernel with every statement that stores an instruction's result replaced by
    change(statement)."""

    def over(s: Statement) -> Statement:
        match s:
            case Block(parts):
                return Block(tuple(map(over, parts)))
            case For(name, count, body, unroll):
                inner = over(body)
                assert isinstance(inner, Block)
                return For(name, count, inner, unroll)
            case Store(_, _, Call(), _):
                return change(s)
        return s

    body = over(kernel.body)
    assert isinstance(body, Block)
    return replace(kernel, body=body)


def kernel() -> Kernel:
    return generate(parse(PRODUCT)).kernels[0]


def refused(found: Kernel, kind: About) -> None:
    proof = prove(found)
    assert kind in {v.obligation.kind for v in proof.failures}, proof.summary()


def test_lanes_that_do_not_all_come_are_refused() -> None:
    lane = var("lid0", 0, 31)
    refused(changed(kernel(), lambda s: If(less(lane, 31), Block((s,)))), About.LANES)


def test_groups_may_come_apart_but_lanes_may_not() -> None:
    group = var("grp0", 0, 2)
    found = changed(kernel(), lambda s: If(less(group, 2), Block((s,))))
    assert prove(found).ok, prove(found).summary()


def test_an_instruction_inside_another_value_is_refused() -> None:
    def doubled(s: Store) -> Statement:
        kind = Kind("float", 4)
        return replace(s, value=Apply("+", (s.value, s.value), kind))

    refused(changed(kernel(), doubled), About.LAUNCH)


def test_a_sub_group_of_another_size_is_refused() -> None:
    refused(replace(kernel(), local_size=(16, 1, 1)), About.LAUNCH)


def test_an_operand_out_of_bounds_is_refused() -> None:
    def further(s: Store) -> Statement:
        assert isinstance(s.value, Call)
        a, *rest = s.value.arguments
        assert isinstance(a, Build)
        moved = [replace(e, index=e.index + constant(8)) for e in a.parts if isinstance(e, Load)]
        call = replace(s.value, arguments=(replace(a, parts=tuple(moved)), *rest))
        return replace(s, value=call)

    refused(changed(kernel(), further), About.BOUNDS)


# ---- planted faults in the text


def text_of() -> tuple[Plan, str]:
    plan = generate(parse(PRODUCT)).plan
    return plan, plan.kernels[0].text


def with_text(plan: Plan, text: str) -> Plan:
    return replace(plan, kernels=(replace(plan.kernels[0], text=text),))


def test_the_text_is_proved() -> None:
    plan, _ = text_of()
    assert all(proof.ok for proof in prove_texts(plan)), prove_texts(plan)[0].summary()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    acc_ = mma_tf32(", "    if (lid0 < 31) acc_ = mma_tf32("),
        ("    acc_ = mma_tf32(", "    if (lid0 < 31) { acc_ = mma_tf32("),
        ("SUB_GROUP_OF(32)", "SUB_GROUP_OF(16)"),
        ("SUB_GROUP_OF(32)\n", ""),
        ("    acc_ = mma_tf32((float4)", "    acc_ = acc_ + mma_tf32((float4)"),
        ("mma_tf32((float4)(", "mma_tf32((float2)("),
        ("a_[a_at + 4]", "a_[a_at + 4000]"),
        ("mma_tf32(", "mma_bf16("),
    ],
    ids=[
        "a lane missing", "a branch", "a smaller sub-group", "no sub-group", "inside a sum",
        "another operand", "out of bounds", "no such instruction",
    ],
)  # fmt: skip
def test_a_planted_fault_in_the_text_is_refused(old: str, new: str) -> None:
    plan, text = text_of()
    assert old in text
    changed_text = text.replace(old, new, 1)
    if new.endswith("{ acc_ = mma_tf32("):
        changed_text = changed_text.replace(", acc_);", ", acc_); }", 1)
    assert not all(proof.ok for proof in prove_texts(with_text(plan, changed_text)))


def test_an_instruction_with_another_body_is_not_read() -> None:
    plan, _ = text_of()
    kernel = plan.kernels[0]
    needs = tuple(line.replace("of_row = 4 * g + s", "of_row = 4 * s + g") for line in kernel.needs)
    assert needs != kernel.needs
    changed_plan = replace(plan, kernels=(replace(kernel, needs=needs),))
    assert not all(proof.ok for proof in prove_texts(changed_plan))


def test_a_branch_on_a_global_id_parts_lanes_too() -> None:
    plan, text = text_of()
    by_global = text.replace("lid0 = get_local_id(0)", "gid0 = get_global_id(0)").replace(
        "grp0 = get_group_id(0);", "grp0 = gid0 / 32;\n  const int lid0 = gid0 % 32;"
    )
    assert all(proof.ok for proof in prove_texts(with_text(plan, by_global)))
    branch = by_global.replace("for (int", "if (gid0 < 31) { for (int", 1) + "}"
    branch = re.sub(r"(mma_tf32.*;\n  })\n", r"\1 }\n", branch)[:-1]
    kinds = {v.obligation.kind for p in prove_texts(with_text(plan, branch)) for v in p.failures}
    assert kinds == {About.LANES}
