"""Tests of copies to local memory that go on until they are awaited: right on every device, where
they are copies at once, too; a copy that is not awaited is refused, in the tree and in the text."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.index.condition import less
from codegen.index.index import var
from codegen.memory.begun_copies import begins
from codegen.plan import Plan
from codegen.proof.prove import prove
from codegen.proof.verdicts import Kind as About
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.statements import Await, Barrier, Block, For, If, Kernel, Statement, Store, block
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.forms_to_derive import tasks
from explore.space.lowering import bound
from ir import Program, parse, show
from ir.instructions.entries.copies import COPIES
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from rewrites.families.all_families import forms
from rewrites.families.blocked import IN_FLIGHT
from rewrites.tuning.lower import lower
from tests.support.agreement import example

REVERSED = """
f(rows : [[float]64]5) =
  map(row -> {all}, mapWorkgroup(0)(row ->
      let staged = toLocalInFlight({by}(x -> {made}, {some}))
      {by}(x -> x, reorder(i -> {last} - i, staged)),
    rows))
"""
SUMS = """
f(rows : [[float]60]5, ws : [float]64) =
  join(mapWorkgroup(0)(row ->
      mapLocal(0)(s -> s, reduceSeq(mapLocal(0)(x -> x, generate(16, i -> 0.0)), (acc, part) ->
          let staged = toLocalAheadInFlight(mapLocal(0)((x, w) -> x, zip(part.0, part.1)))
          mapLocal(0)((s, (x, w)) -> s + x, zip(acc, zip(reorder(i -> 15 - i, staged), part.1))),
        zip(split(16, pad(2, 2, 0.0, row)), split(16, ws)))),
    rows))
"""
BETWEEN_ZEROS = """
f(rows : [[float]64]5) =
  mapWorkgroup(0)(row ->
      let staged = toLocalInFlight(mapSeq(part -> mapLocal(0)(x -> x, part), split(32, row)))
      mapLocal(0)(x -> x, reorder(i -> 63 - i, join(staged))),
    transpose(map(column -> pad(1, 1, 0.0, column), transpose(rows))))
"""
CONVOLUTION = example("vgg", {"C": 16, "W": 6, "H": 5, "M": 8})
PRODUCT = example("matmul", {"M": 20, "N": 24, "K": 36})
H200 = profile("h200")


def staged(width: int = 1, by: str = "mapLocal(0)", made: str = "x") -> Program:
    """A program that reverses rows, by way of local memory, in vectors of this width."""
    some, every = (f"asVector({width}, row)", "asScalar(row)") if width > 1 else ("row", "row")
    words = {"some": some, "all": every, "by": by, "made": made}
    return parse(REVERSED.format(last=64 // width - 1, **words))


def agrees(sessions: Sequence[Session], p: Program, plan: Plan) -> None:
    inputs = random_inputs(p, 3, integers=True)
    for session in sessions:
        out = np.asarray(session.build(plan, checking=True)(inputs))
        assert np.array_equal(out, np.asarray(evaluate(p, inputs)))


def proved(made: Generated) -> None:
    assert all(prove(kernel).ok for kernel in made.kernels)
    assert all(proof.ok for proof in prove_texts(made.plan))


@pytest.mark.parametrize("width", [1, 2, 4])
def test_numbers_and_vectors_are_copied(sessions: tuple[Session, ...], width: int) -> None:
    p = staged(width)
    made = generate(p)
    proved(made)
    assert f"COPY_{4 * width}(" in made.plan.kernels[0].text
    assert parse(show(p)) == p
    agrees(sessions, p, made.plan)


def test_what_is_no_copy_is_stored_at_once() -> None:
    made = generate(staged(made="-x"))
    proved(made)
    assert "COPY_4(" not in made.plan.kernels[0].text
    assert "AWAIT_COPIES();" not in made.plan.kernels[0].text


def test_zeros_around_an_array_are_copied_too(sessions: tuple[Session, ...]) -> None:
    p = parse(SUMS)
    made = generate(p)
    proved(made)
    text = made.plan.kernels[0].text
    assert text.count("COPY_4_OR_ZERO(") == 2
    loop = text[text.index("for (") :]
    assert loop.index("COPY_4_OR_ZERO(") < loop.index("+ ") < loop.index("AWAIT_COPIES();")
    agrees(sessions, p, made.plan)


def test_zeros_that_no_test_tells_from_an_array_are_stored_at_once(
    sessions: tuple[Session, ...],
) -> None:
    """Whether a group copies a row or fills it with zeros is tested before its loop."""
    p = parse(BETWEEN_ZEROS)
    made = generate(p)
    proved(made)
    text = made.plan.kernels[0].text
    assert (text.count("COPY_4("), text.count("] = 0.0f;")) == (1, 1)
    agrees(sessions, p, made.plan)


@pytest.mark.parametrize("form", ["", "ahead", "sliced", "padded relaid ahead", "im2col relaid"])
def test_tiles_of_blocks_are_copied_so(sessions: tuple[Session, ...], form: str) -> None:
    for p in (CONVOLUTION, PRODUCT):
        words = {*form.split(), IN_FLIGHT.word}
        for chosen in (f for f in forms(p, "blocked") if {*f.words} == words):
            low = lower(p, chosen)
            for point in points(low, H200, 2, len(form))[1]:
                made = generate(bound(low.program, point), max_work_group=256)
                proved(made)
                agrees(sessions, p, made.plan)


def test_devices_with_the_instruction_are_offered_these_forms() -> None:
    for names in ((), (COPIES.name,)):
        own = replace(H200, instructions=names)
        found = tasks(PRODUCT, own, families=("blocked",), budget=100_000, seed=0)
        assert any(IN_FLIGHT in task.form.traits for task in found) == bool(names)


# ---- planted faults in the tree


def kernel() -> Kernel:
    return generate(staged()).kernels[0]


def changed(kernel: Kernel, change: Callable[[list[Statement]], list[Statement]]) -> Kernel:
    return replace(kernel, body=block(change([*kernel.body.statements])))


def without(kinds: type | tuple[type, ...], body: list[Statement]) -> list[Statement]:
    return [s for s in body if not isinstance(s, kinds)]


def refused(found: Kernel) -> None:
    proof = prove(found)
    assert {v.obligation.kind for v in proof.failures} == {About.AWAITED}, proof.summary()


def test_a_copy_that_is_not_awaited_is_refused() -> None:
    refused(changed(kernel(), lambda body: without(Await, body)))


def test_a_copy_that_is_awaited_after_the_barrier_is_refused() -> None:
    def later(body: list[Statement]) -> list[Statement]:
        at = next(n for n, s in enumerate(body) if isinstance(s, Barrier))
        return [*without(Await, body[: at + 1]), Await(), *body[at + 1 :]]

    refused(changed(kernel(), later))


def test_a_copy_that_only_some_work_items_await_is_refused() -> None:
    some = less(var("lid0", 0, 63), 63)

    def guarded(body: list[Statement]) -> list[Statement]:
        return [If(some, Block((s,))) if isinstance(s, Await) else s for s in body]

    refused(changed(kernel(), guarded))


def test_a_copy_that_is_begun_after_others_were_awaited_is_refused() -> None:
    def exchanged(body: list[Statement]) -> list[Statement]:
        copies = [s for s in body if isinstance(s, Store) and s.begun]
        rest = [s for s in body if s not in copies]
        at = next(n for n, s in enumerate(rest) if isinstance(s, Await))
        return [*rest[: at + 1], *copies, *rest[at + 1 :]]

    refused(changed(kernel(), exchanged))


def test_a_work_item_does_not_use_its_own_copy_before_it_awaits_it() -> None:
    """Without other work-items there are no barriers; a read before the await is refused all the
    same, and so is a second copy to the same cells."""
    found = generate(staged(by="mapSeq")).kernels[0]
    assert prove(found).ok

    def late(body: Block) -> Block:
        inner = [
            replace(s, body=late(s.body)) if isinstance(s, For) else s for s in body.statements
        ]
        waits = any(isinstance(s, Await) for s in inner)
        return Block((*without(Await, inner), *([Await()] if waits else [])))

    def twice(body: Block) -> Block:
        inner = [
            replace(s, body=twice(s.body)) if isinstance(s, For) else s for s in body.statements
        ]
        copies = [s for s in inner if isinstance(s, For) and begins(s.body)]
        return (
            block([*copies, *inner]) if any(isinstance(s, Await) for s in inner) else block(inner)
        )

    refused(replace(found, body=late(found.body)))
    refused(replace(found, body=twice(found.body)))


# ---- planted faults in the text

TEXT_FAULTS = {
    "not awaited": ("  AWAIT_COPIES();\n", ""),
    "awaited after the barrier": (
        "  AWAIT_COPIES();\n  barrier(CLK_LOCAL_MEM_FENCE);\n",
        "  barrier(CLK_LOCAL_MEM_FENCE);\n  AWAIT_COPIES();\n",
    ),
    "awaited by some": ("  AWAIT_COPIES();\n", "  if (lid0 < 63) {\n    AWAIT_COPIES();\n  }\n"),
    "more bytes": ("COPY_4(", "COPY_8("),
    "to global memory": ("COPY_4(rows_tile_[lid0]", "COPY_4(out_[lid0]"),
    "from local memory": ("rows_[rows_base]);\n  AWAIT", "rows_tile_[lid0]);\n  AWAIT"),
    "out of bounds": ("COPY_4(rows_tile_[lid0]", "COPY_4(rows_tile_[lid0 + 1]"),
    "a sum": ("rows_[rows_base]);\n  AWAIT", "rows_[rows_base] + 1.0f);\n  AWAIT"),
}


@pytest.mark.parametrize("fault", TEXT_FAULTS)
def test_a_planted_fault_in_the_text_is_refused(fault: str) -> None:
    plan = generate(staged()).plan
    (old, new), text = TEXT_FAULTS[fault], plan.kernels[0].text
    assert old in text
    wrong = replace(plan.kernels[0], text=text.replace(old, new, 1))
    assert not all(proof.ok for proof in prove_texts(replace(plan, kernels=(wrong,))))


def test_copies_with_other_texts_are_not_read() -> None:
    plan = generate(staged()).plan
    (kernel,) = plan.kernels
    needs = tuple(n.replace("cp.async.wait_all;", "") for n in kernel.needs)
    assert needs != kernel.needs
    wrong = replace(plan, kernels=(replace(kernel, needs=needs),))
    assert not all(proof.ok for proof in prove_texts(wrong))


# ---- several iterations ahead


def ring(ahead: str, rows: int = 4) -> Program:
    """The program SUMS with copies begun so many iterations ahead, in a loop of so many turns."""
    text = SUMS.replace("toLocalAhead", f"toLocal{ahead}Ahead").replace("float]60", "float]LEN")
    return parse(text.replace("LEN", str(16 * rows - 4)).replace("float]64", f"float]{16 * rows}"))


@pytest.mark.parametrize("ahead", ["Two", "Three"])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7])
def test_copies_are_begun_several_iterations_ahead(
    sessions: tuple[Session, ...], ahead: str, rows: int
) -> None:
    p = ring(ahead, rows)
    made = generate(p)
    proved(made)
    assert parse(show(p)) == p
    text = made.plan.kernels[0].text
    if rows > 4:
        assert f"AWAIT_COPIES_BUT({1 if ahead == 'Two' else 2});" in text
        assert text[text.index("for (") :].count("barrier(") == 1
    agrees(sessions, p, made.plan)


def awaiting(later: int, body: Block) -> Block:
    """The statements of `body` with so many groups left at each place that awaits copies."""
    found = list[Statement]()
    for s in body.statements:
        match s:
            case Await():
                found.append(Await(later))
            case For() | If():
                found.append(replace(s, body=awaiting(later, s.body)))
            case _:
                found.append(s)
    return Block(tuple(found))


def test_too_many_groups_left_under_way_are_refused() -> None:
    for ahead, right in (("Two", 1), ("Three", 2)):
        kernel = generate(ring(ahead, 9)).kernels[0]
        for later in range(5):
            wrong = replace(kernel, body=awaiting(later, kernel.body))
            assert prove(wrong).ok == (later <= right), (ahead, later)


RING_FAULTS = {
    "one group more": ("AWAIT_COPIES_BUT(1)", "AWAIT_COPIES_BUT(2)"),
    "one part less": ("(i_part + 2) % 3", "(i_part + 3) % 3"),
    "the part that is read": ("(i_part + 2) % 3", "(i_part + 1) % 3"),
    "no barrier": ("barrier(CLK_LOCAL_MEM_FENCE);", ""),
    "begun in the last iteration": ("i_part < 7", "i_part < 9"),
}


@pytest.mark.parametrize("fault", RING_FAULTS)
def test_faults_in_the_text_of_a_ring_are_refused(fault: str) -> None:
    old, new = RING_FAULTS[fault]
    plan = generate(ring("Two", 9)).plan
    (kernel,) = plan.kernels
    assert old in kernel.text, kernel.text
    assert all(proof.ok for proof in prove_texts(plan))
    wrong = replace(kernel, text=kernel.text.replace(old, new))
    assert not all(proof.ok for proof in prove_texts(replace(plan, kernels=(wrong,))))
