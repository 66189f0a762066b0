"""Tests of loops whose operands are loaded a step before they are multiplied: right for any number
of turns and steps, a barrier a turn, copies between products; planted faults are refused."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.statements import Await, Barrier, Block, For, Kernel, Statement, block
from explore.space.lowering import bound
from ir import Program, parse, show
from ir.errors import Unsupported
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from rewrites.families.all_families import form_named
from rewrites.tuning.lower import lower

WIDE = {"float": ("", "", "mma-tf32"), "bfloat": ("float", "bfloat", "mma-bf16")}
WIDE["half"] = ("float", "half", "mma-f16")
SUMS = """
f(rows : [[float]64]4) =
  join(mapWorkgroup(0)(row ->
      mapLocal(0)(s -> s, reduceSeqStepAhead(mapLocal(0)(x -> x, generate(16, i -> 0.0)),
        (acc, part) ->
          let staged = toLocalAheadInFlight(mapLocal(0)(x -> x, part))
          mapLocal(0)((s, x) -> s + x, zip(acc, reorder(i -> 15 - i, staged))),
        split(16, row))),
    rows))
"""


def product(t: str, steps: int, rows: int = 32, columns: int = 64) -> Program:
    wide, result, _ = WIDE[t]
    return parse(
        f"product(a : [[{t}]K]M, b : [[{t}]N]K) = map(row -> map(column -> {result}(reduce(0.0, "
        f"(acc, (x, y)) -> acc + {wide}(x) * {wide}(y), zip(row, column))), transpose(b)), a) "
        f"where M = {rows}, N = {columns}, K = {steps}"
    )


def made(p: Program, t: str, ahead: str, k: int, more: str = "step-ahead") -> Generated:
    words = f"{WIDE[t][2]} patch {ahead} both in-flight {more} by-rows"
    low = lower(p, form_named(p, "matrix", " ".join(words.split())))
    assert low.derivation.replay() == low.derivation.end
    assert parse(show(low.program)) == low.program
    point = {"tr": 1, "sr": 2, "sc": 2, "tx": 64, "k": k}
    return generate(bound(low.program, point), max_work_group=1024)


CASES: dict[str, tuple[Any, ...]] = {
    "an even number of steps a turn": ("float", "two-ahead", 2, 48),
    "a group beyond the edges": ("float", "ahead", 1, 32, 24, 40),
    "turns by twos": ("bfloat", "two-ahead", 1, 64),
    "a turn behind turns by twos": ("bfloat", "ahead", 1, 48),
    "one turn by two": ("float", "ahead", 1, 16),
    "fewer turns than chunks under way": ("bfloat", "three-ahead", 1, 32),
}


@pytest.mark.parametrize("case", CASES)
def test_products_are_right_for_any_number_of_steps(session: Session, case: str) -> None:
    t, ahead, k, *sizes = CASES[case]
    p = product(t, *sizes)
    generated = made(p, t, ahead, k)
    assert all(prove(kernel).ok for kernel in generated.kernels)
    assert all(proof.ok for proof in prove_texts(generated.plan))
    inputs = random_inputs(p, 1, integers=True)
    out = np.asarray(session.build(generated.plan, checking=True)(inputs))
    assert np.array_equal(out, np.asarray(evaluate(p, inputs)))


@cache
def ring() -> Generated:
    return made(product("bfloat", 256), "bfloat", "two-ahead", 2)


def test_loads_of_a_step_come_before_the_products_of_the_one_before() -> None:
    """A turn has two steps, each of five loads and four products, and begins three copies behind
    the first product."""
    text = ring().plan.kernels[0].text
    turn = text[text.index("for (int i_rows_plane") : text.index("AWAIT_COPIES_BUT(1);\n  }")]
    found = re.findall(r"barrier|ldmatrix_x|mma_bf16|COPY_16", turn)
    runs = [(word, len([*same])) for word, same in groupby(found)]
    loads, copies = ("ldmatrix_x", 5), ("COPY_16", 3)
    first = [("barrier", 1), loads, ("mma_bf16", 1), copies, ("mma_bf16", 3)]
    assert runs == [*first, loads, ("mma_bf16", 4)]


# ---- planted faults


def changed(s: Block, change: Callable[[list[Statement]], list[Statement]]) -> Block:
    """The block s with the statements of the loop over chunks changed."""
    done = list[Statement]()
    for each in s.statements:
        if isinstance(each, For) and any(isinstance(x, Barrier) for x in each.body.statements):
            each = replace(each, body=block(change([*each.body.statements])))
        done.append(each)
    return Block(tuple(done))


def without(kind: type, body: list[Statement]) -> list[Statement]:
    return [s for s in body if not isinstance(s, kind)]


def barrier_after_loads(body: list[Statement]) -> list[Statement]:
    first, *rest = body
    assert isinstance(first, Barrier)
    return [*rest[:6], first, *rest[6:]]


def awaited_later(body: list[Statement]) -> list[Statement]:
    return [Await(2) if isinstance(s, Await) else s for s in body]


FAULTS = {
    "no barrier": lambda body: without(Barrier, body),
    "no await": lambda body: without(Await, body),
    "the barrier after loads": barrier_after_loads,
    "a group more under way": awaited_later,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_in_the_tree_is_refused(fault: str) -> None:
    (kernel,) = ring().kernels
    assert prove(kernel).ok
    wrong = changed(kernel.body, FAULTS[fault])
    assert wrong != kernel.body
    assert not prove(replace(kernel, body=wrong)).ok


def test_copies_left_under_way_at_the_end_are_refused() -> None:
    (kernel,) = ring().kernels
    body = [*kernel.body.statements]
    last = max(n for n, s in enumerate(body) if isinstance(s, Await))
    wrong: Kernel = replace(kernel, body=Block((*body[:last], *body[last + 1 :])))
    assert not prove(wrong).ok


TEXT_FAULTS = {
    "one group more": ("AWAIT_COPIES_BUT(1)", "AWAIT_COPIES_BUT(2)"),
    "one part less": ("(i_rows_plane + 2) % 3", "(i_rows_plane + 3) % 3"),
    "no barrier": ("barrier(CLK_LOCAL_MEM_FENCE);", ""),
    "left at the end": ("  AWAIT_COPIES();\n", ""),
    "begun in the last turn": ("i_rows_plane < 6", "i_rows_plane < 8"),
}


@pytest.mark.parametrize("fault", TEXT_FAULTS)
def test_a_planted_fault_in_the_text_is_refused(fault: str) -> None:
    old, new = TEXT_FAULTS[fault]
    (kernel,) = ring().plan.kernels
    assert old in kernel.text, kernel.text
    wrong = replace(kernel, text=kernel.text.replace(old, new))
    assert not all(proof.ok for proof in prove_texts(replace(ring().plan, kernels=(wrong,))))


def test_loops_without_products_by_instructions_are_refused_in_words() -> None:
    p = parse(SUMS)
    assert parse(show(p)) == p
    with pytest.raises(Unsupported, match="expected products by matrix instructions"):
        generate(p)
