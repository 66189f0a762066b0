"""Tests of products that go on after an instruction was called: they are awaited before barriers
and before their results are used, once for all, and planted faults are refused."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from codegen.compile import Generated, generate
from codegen.index.condition import less
from codegen.index.index import as_index, var
from codegen.proof.prove import prove
from codegen.proof.verdicts import Kind as About
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.kernel_values import Broadcast, Call, Kind, Number
from codegen.tree.statements import AwaitProducts, Barrier, Block, For, If, Kernel, Statement, Store
from explore.space.lowering import bound
from ir import parse
from ir.instructions.table import CALLED
from ir.instructions.under_way import TEXT
from rewrites.families.all_families import form_named
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix_both_staged import product
from tests.rewrites.test_matrix_placed import PADDED


@cache
def made() -> Generated:
    p = product("bfloat", 128, 64, 128, turned="b")
    low = lower(p, form_named(p, "matrix", "wgmma-bf16 patch two-ahead both in-flight"))
    point = {"tr": 1, "sr": 2, "sc": 1, "tx": 64, "k": 1}
    return generate(bound(low.program, point), max_work_group=1024)


def kernel() -> Kernel:
    return made().kernels[0]


def over(s: Block, change: Callable[[Statement], list[Statement]]) -> Block:
    """The block s with each statement in it replaced by those that `change` gives."""
    done = list[Statement]()
    for each in s.statements:
        match each:
            case For(_, _, body) | If(_, body):
                done.append(replace(each, body=over(body, change)))
            case _:
                done.extend(change(each))
    return Block(tuple(done))


def is_call(s: Statement) -> bool:
    return isinstance(s, Store) and isinstance(s.value, Call)


def test_a_turn_awaits_the_products_of_the_one_before_at_its_barrier() -> None:
    text = made().plan.kernels[0].text
    found = re.findall(
        r"for \(int i_rows|AWAIT_PRODUCTS|ORDERED_BARRIER|COPY_16|wgmma_bf16|AWAIT_COPIES|SETTLED"
        r"|out_\[",
        text[text.index("for (int i_rows") :],
    )
    runs = [word for n, word in enumerate(found) if n == 0 or word != found[n - 1]]
    turn = ["AWAIT_PRODUCTS", "ORDERED_BARRIER", "COPY_16", "wgmma_bf16", "AWAIT_COPIES"]
    assert runs == ["for (int i_rows", *turn, "AWAIT_PRODUCTS", "SETTLED", "out_["]
    assert found.count("AWAIT_PRODUCTS") == 2


def awaited_behind(s: Statement) -> list[Statement]:
    return [s, AwaitProducts()] if isinstance(s, Barrier) else [s]


def without(kind: type) -> Callable[[Statement], list[Statement]]:
    return lambda s: [] if isinstance(s, kind) else [s]


def never_settled(s: Statement) -> list[Statement]:
    return [AwaitProducts()] if isinstance(s, AwaitProducts) else [s]


def by_some_lanes(s: Statement) -> list[Statement]:
    some = less(var("lid0", 0, 127), 96)
    return [If(some, Block((s,)))] if isinstance(s, AwaitProducts) else [s]


def begun_afresh(s: Statement) -> list[Statement]:
    """Registers are set to zero while products are added to them."""
    if not isinstance(s, Store) or not is_call(s):
        return [s]
    zero = Broadcast(Number(0, "float"), Kind("float", 16))
    return [s, Store(s.memory, as_index(0), zero)]


def all_but_the_latest(s: Statement) -> list[Statement]:
    return [replace(s, later=1)] if isinstance(s, AwaitProducts) else [s]


FAULTS = {
    "none is awaited": (without(AwaitProducts), About.AWAITED),
    "all but the latest are awaited": (all_but_the_latest, About.AWAITED),
    "results are not settled": (never_settled, About.AWAITED),
    "some lanes await them": (by_some_lanes, About.LANES),
    "results are written": (begun_afresh, About.AWAITED),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_in_the_tree_is_refused(fault: str) -> None:
    assert prove(kernel()).ok
    change, kind = FAULTS[fault]
    wrong = replace(kernel(), body=over(kernel().body, change))
    assert wrong.body != kernel().body
    proof = prove(wrong)
    assert kind in {v.obligation.kind for v in proof.failures}, proof.summary()


def test_products_that_are_awaited_behind_a_barrier_are_refused() -> None:
    body = over(over(kernel().body, without(AwaitProducts)), awaited_behind)
    settled = [s for s in kernel().body.statements if isinstance(s, AwaitProducts)]
    at = max(n for n, s in enumerate(body.statements) if isinstance(s, For)) + 1
    wrong = Block((*body.statements[:at], *settled, *body.statements[at:]))
    proof = prove(replace(kernel(), body=wrong))
    assert {v.obligation.kind for v in proof.failures} == {About.AWAITED}, proof.summary()


TEXT_FAULTS = {
    "none is awaited": ("    AWAIT_PRODUCTS();\n", ""),
    "the last are not awaited": ("  }\n  AWAIT_PRODUCTS();\n", "  }\n"),
    "awaited behind the barrier": (
        "    AWAIT_PRODUCTS();\n    ORDERED_BARRIER(CLK_LOCAL_MEM_FENCE);\n",
        "    ORDERED_BARRIER(CLK_LOCAL_MEM_FENCE);\n    AWAIT_PRODUCTS();\n",
    ),
    "not settled": ("  SETTLED(acc_1);\n", ""),
    "settled before": (
        "  AWAIT_PRODUCTS();\n  SETTLED(acc_0);\n",
        "  SETTLED(acc_0);\n  AWAIT_PRODUCTS();\n",
    ),
    "of another sum": ("acc_0, acc_1)", "acc_0, acc_0)"),
    "by some lanes": ("    AWAIT_PRODUCTS();\n", "    if (lid0 < 96) {\n AWAIT_PRODUCTS();\n}\n"),
    "another text": ("wait_group.sync.aligned 0", "wait_group.sync.aligned 1"),
    "all but the latest": ("    AWAIT_PRODUCTS();\n", "    AWAIT_PRODUCTS_BUT(1);\n"),
}


@pytest.mark.parametrize("fault", TEXT_FAULTS)
def test_a_planted_fault_in_the_text_is_refused(fault: str) -> None:
    old, new = TEXT_FAULTS[fault]
    (launch,) = made().plan.kernels
    assert all(proof.ok for proof in prove_texts(made().plan))
    needs = tuple(need.replace(old, new) for need in launch.needs)
    wrong = replace(launch, text=launch.text.replace(old, new), needs=needs)
    assert wrong != launch
    assert not all(proof.ok for proof in prove_texts(replace(made().plan, kernels=(wrong,))))


def test_nothing_is_awaited_by_others() -> None:
    """Only instructions that go on are awaited: their texts wait for nothing themselves."""
    going = [e for e in CALLED.values() if e.instruction.goes_on]
    assert {e.name.partition("_")[0] for e in going} == {"wgmma"}
    assert not any("wait_group" in e.text for e in going)
    assert "wait_group" in TEXT


def convolved() -> Generated:
    """A convolution whose taps are turns of loops inside each chunk."""
    p = parse(PADDED)
    low = lower(p, form_named(p, "matrix", "wgmma-bf16 patch relaid parts running"))
    point = {"tr": 1, "sr": 1, "sc": 1, "tx": 4, "ty": 8, "k": 1, "rp": 0}
    return generate(bound(low.program, point), max_work_group=1024)


def test_a_turn_of_a_sum_awaits_the_products_of_the_turn_before() -> None:
    """So that registers of operands are free again: all that is in a turn may go on."""
    found = convolved()
    text = found.plan.kernels[-1].text
    turn = re.search(r"(?:\n +acc_ = wgmma_bf16\(.*){3}\n +(\w+)\((\d)\);\n +}", text)
    assert turn is not None
    assert turn.groups() == ("AWAIT_PRODUCTS_BUT", "1")
    assert text.count("AWAIT_PRODUCTS_BUT") == 1
    assert all(prove(kernel).ok for kernel in found.kernels)
    assert all(proof.ok for proof in prove_texts(found.plan))


def test_products_of_parts_are_added_in_one_place() -> None:
    """None is awaited between the three products of a number's parts."""
    text = convolved().plan.kernels[-1].text
    assert re.search(r"acc_ = wgmma_bf16\(.*, acc_\);\n +acc_ = wgmma_bf16", text)
    assert "made_" not in text
