"""Tests of the proof of an OpenCL text, which reads nothing but the text and shares no code with
the printer."""

import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.opencl.print_kernel import print_kernel
from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.proof.prove import prove
from codegen.proof.verdicts import Kind, Proof
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.statements import Kernel as Tree
from ir.errors import Unsupported
from ir.parse import parse, parse_file
from tests.support.agreement import WRITTEN, by_hand, written
from tests.support.lowered_programs import PROGRAMS

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.lift"))
HEAD = "__attribute__((reqd_work_group_size(4, 1, 1)))\n__kernel void f(\n"
TILE = "__local float tile[4] __attribute__((aligned(64)));"
LID, GRP = "const int lid0 = get_local_id(0);", "const int grp0 = get_group_id(0);"


def failures(plan: Plan) -> list[str]:
    return [proof.summary() for proof in prove_texts(plan) if not proof.ok]


@pytest.mark.parametrize("name", WRITTEN)
def test_text_of_every_example_and_family_is_proved(name: str) -> None:
    for case in written(name):
        assert not failures(case.made.plan)


def test_text_of_lowered_programs_written_by_hand_is_proved() -> None:
    for case in by_hand():
        assert not failures(case.made.plan), case.name


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_text_of_golden_kernels_is_proved(file: Path) -> None:
    assert not failures(generate(parse_file(file)).plan)


# ---- texts written here: x of 16 floats is read, y of 16 written, by 4 groups of 4


def plan(body: str, **changes: Any) -> Plan:
    text = (
        HEAD
        + f"    __global const float *restrict x,\n    __global float *restrict y)\n{{{body}}}\n"
    )
    buffers = tuple(
        Buffer(name, "float", (16,), 64, role)
        for name, role in (("x", Role.INPUT), ("y", Role.OUTPUT))
    )
    launch = Kernel("f", (16, 1, 1), (4, 1, 1), ("x", "y"), False, text)
    return Plan((replace(launch, **changes),), buffers, 128, 0)


def proof(body: str, **changes: Any) -> Proof:
    return prove_texts(plan(body, **changes))[0]


def about(body: str, **changes: Any) -> set[Kind]:
    """The kinds of the obligations that stay unproved for a kernel with this body; `changes` are
    fields to set in its launch or its plan."""
    return {v.obligation.kind for v in proof(body, **changes).failures}


ID = "const int i = get_global_id(0);"
X, XB = "const __global float *", "(const __global char *)x"
Y, YB = "__global float *", "(__global char *)y"
FINE = {
    "copy": f"{ID} y[i] = x[i];",
    "comments": f"// y[0] =\n {ID} y[i] = x[i]; // }}\n// end\n",
    "guard": f"{ID} if (i < 15) {{ y[i] = x[i + 1]; }} else {{ y[i] = 0.0f; }}",
    "a long guard": f"{ID} if ({'i < 15 && ' * 400} i < 15) {{ y[i] = x[i + 1]; }}",
    "choice": f"{ID} y[i] = (i >= 1 ? x[i - 1] : 0.0f);",
    "choice of places": f"{ID} y[i] = select(0.0f, x[i >= 1 ? i - 1 : 0], i >= 1);",
    "vectors": f"{ID} if (i < 4) {{ *(__global float4 *)&y[i * 4] = vload4(i, x); }}",
    "unaligned vectors": f"{ID} if (i < 4) {{ vstore3(vload3(0, x + i * 4 + 1), 0, y + i * 4); }}",
    "vectors at a sum": f"{ID} if (i < 4) {{ *(__global float4 *)(y + i * 4) = vload4(i, x); }}",
    "bytes": f"{ID} *({Y})({YB} + (uint)(i * 4)) = *({X})({XB} + (uint)(60 - i * 4));",
    "vectors at bytes": f"{ID} if (i < 4) {{ vstore3(vload3(0, ({X})({XB} + (uint)(i * 16 + 4))),"
    f" 0, ({Y})({YB} + (uint)(i * 16))); }}",
    "choice of bytes": f"{ID} y[i] = *({X})({XB} + (uint)(i >= 1 ? i * 4 - 4 : 0));",
    "tile": f"{TILE} {LID} {GRP} tile[lid0] = x[grp0 * 4 + lid0]; barrier(CLK_LOCAL_MEM_FENCE);"
    " y[grp0 * 4 + lid0] = tile[3 - lid0];",
    "tile in a loop": f"{TILE} {LID} {GRP} float a = 0.0f; for (int k = 0; k < 4; ++k) {{"
    " tile[lid0] = x[k * 4 + lid0]; barrier(CLK_LOCAL_MEM_FENCE); a = a + tile[3 - lid0];"
    " barrier(CLK_LOCAL_MEM_FENCE); } y[grp0 * 4 + lid0] = a;",
    "a loop in each branch": f"{ID} float a = 0.0f; if (i < 8) {{ for (int k = 0; k < 2; ++k) {{"
    " a = a + x[k]; } } else { for (int k = 0; k < 16; ++k) { a = a + x[k]; } } y[i] = a;",
    "an index that walks": f"{ID} float a = 0.0f;"
    " for (int k = 0, at = i; k < 2; ++k, at -= 1) { if (at >= 0) { a = a + x[at]; } } y[i] = a;",
    "a walk in each branch": f"{ID} float a = 0.0f;"
    " for (int k = 0, at = 0; k < 2; ++k, at += 3) { if (i < 3) {"
    " for (int n = 0; n < 5; ++n, at += 1) { a = a + x[at]; } } else {"
    " for (int n = 0; n < 5; ++n, at += 1) { } } } y[i] = a;",
    "an index that walks with two loops": f"{ID} float a = 0.0f;"
    " for (int k = 0, at = 15; k < 4; ++k, at -= 2) {"
    " for (int n = 0; n < 2; ++n, at -= 1) { a = a + x[at]; } } y[i] = a;",
    "wide": f"{ID} const long j = (long)i * 3000000000L; y[i] = x[j / 3000000000L];",
}


@pytest.mark.parametrize("name", FINE)
def test_a_safe_text_is_proved(name: str) -> None:
    assert proof(FINE[name]).ok, proof(FINE[name]).summary()


OUT, MEET = "y[grp0 * 4 + lid0]", "barrier(CLK_LOCAL_MEM_FENCE);"
UNSAFE = {
    "one beyond": (f"{ID} y[i] = x[i + 1];", Kind.BOUNDS),
    "one before": (f"{ID} y[i] = x[i - 1];", Kind.BOUNDS),
    "a lane beyond": (f"{ID} if (i < 4) {{ y[i] = vload4(0, x + i * 4 + 1).s0; }}", Kind.BOUNDS),
    "guard too loose": (f"{ID} if (i <= 15) {{ y[i] = x[i + 1]; }}", Kind.BOUNDS),
    "the other branch": (
        f"{ID} if (i < 15) {{ y[i] = 0.0f; }} else {{ y[i] = x[i + 1]; }}",
        Kind.BOUNDS,
    ),
    "one cell for all": (f"{ID} y[0] = x[i];", Kind.RACE),
    "one cell for two": (f"{ID} y[i / 2] = x[i];", Kind.RACE),
    "vectors overlap": (f"{ID} if (i < 4) {{ vstore4(vload4(i, x), 0, y + i * 3); }}", Kind.RACE),
    "no barrier": (f"{TILE} {LID} {GRP} tile[lid0] = x[lid0]; {OUT} = tile[3 - lid0];", Kind.RACE),
    "the other fence": (
        f"{TILE} {LID} {GRP} tile[lid0] = x[lid0]; barrier(CLK_GLOBAL_MEM_FENCE);"
        f"{OUT} = tile[3 - lid0];",
        Kind.RACE,
    ),
    "a barrier for some": (f"{LID} {GRP} if (lid0 < 3) {{ {MEET} }} {OUT} = x[0];", Kind.BARRIER),
    "unaligned": (
        f"{ID} if (i < 3) {{ *(__global float4 *)&y[i * 4 + 1] = vload4(0, x); }}",
        Kind.ALIGNMENT,
    ),
    "local memory not aligned": (
        f"__local float tile[4]; {LID} {GRP}"
        " if (lid0 < 1) { *(__local float4 *)&tile[lid0] = vload4(0, x); }",
        Kind.ALIGNMENT,
    ),
    "a sum that is not aligned": (
        f"{ID} if (i < 3) {{ *(__global float4 *)(y + i * 4 + 1) = vload4(0, x); }}",
        Kind.ALIGNMENT,
    ),
    "a sum beyond": (
        f"{ID} if (i < 4) {{ *(__global float4 *)(y + i * 4 + 4) = vload4(0, x); }}",
        Kind.BOUNDS,
    ),
    "a walk beyond": (
        f"{ID} for (int k = 0, at = i; k < 2; ++k, at += 1) {{ float a = x[at]; }}",
        Kind.BOUNDS,
    ),
    "a walk below": (
        f"{ID} float a = 0.0f; for (int k = 0, at = 15; k < 4; ++k, at -= 1) {{"
        " for (int n = 0; n < 2; ++n, at -= 2) { a = a + x[at]; } }",
        Kind.BOUNDS,
    ),
    "a walk to one cell": (
        f"{ID} for (int k = 0, at = i; k < 2; ++k, at -= 1) {{ if (at >= 0) {{ y[at] = 0.0f; }} }}",
        Kind.RACE,
    ),
    "a walk out of the ints": (
        f"{ID} for (int k = 0, at = 0; k < 3; ++k, at += 1000000000) {{ }}",
        Kind.OVERFLOW,
    ),
    "bytes beyond": (f"{ID} y[i] = *({X})({XB} + (uint)(i * 4 + 4));", Kind.BOUNDS),
    "bytes before": (f"{ID} y[i] = *({X})({XB} + (i * 4 - 4));", Kind.BOUNDS),
    "bytes between": (f"{ID} y[i] = *({X})({XB} + (uint)(i * 2));", Kind.ALIGNMENT),
    "a vector between": (
        f"{ID} if (i < 4) {{ y[i] = vload3(0, ({X})({XB} + i)).s0; }}",
        Kind.ALIGNMENT,
    ),
    "bytes of others": (
        f"{ID} if (i < 8) {{ vstore2(vload2(0, x), 0, ({Y})({YB} + i * 4)); }}",
        Kind.RACE,
    ),
    "overflow": (f"{ID} const int j = i * 200000000; y[i] = x[j / 200000000];", Kind.OVERFLOW),
    "a long too large": (f"{ID} const int j = (long)i * 3000000000L; y[i] = 0.0f;", Kind.OVERFLOW),
    "rounding of what is negative": (f"{ID} y[i] = x[(i - 3) / 16];", Kind.DIVISION),
    "division by zero": (f"{ID} y[i] = x[i / 0];", Kind.DIVISION),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_text_is_not_proved(name: str) -> None:
    body, kind = UNSAFE[name]
    assert about(body) == {kind}


HIDDEN = "float a = 1.0f /*(const __global float *)&x[0];"  # a quotient, if /* is two tokens
NOT_PRINTED = {
    "goto": "goto end;",
    "while": "while (1) { }",
    "a call": f"{ID} y[i] = printf(1);",
    "an atomic": "atomic_add(y, 1);",
    "a pointer of another space": f"{ID} y[i] = *({X})((__local char *)x + i * 4);",
    "a pointer of another type": f"{ID} y[i] = *({X})((const __global short *)x + i * 4);",
    "a pointer to ints": f"{ID} y[i] = vload2(0, (const __global int *)({XB} + i * 4)).s0;",
    "a choice of pointers": f"{ID} y[i] = vload2(0, ({X})({XB} + (i >= 1 ? 4 : 0))).s0;",
    "a pointer as a number": f"{ID} y[i] = ({X})({XB} + i * 4);",
    "a walk under a test": f"{ID} for (int k = 0, at = 0; k < 2; ++k) {{ if (i < 3) {{"
    " for (int n = 0; n < 2; ++n, at += 1) { } } float a = x[at]; }",
    "a step of a number": f"{ID} const int at = 0; for (int k = 0; k < 2; ++k, at += 1) {{ }}",
    "a step of a register": f"{ID} int at = 0; for (int k = 0; k < 2; ++k, at += 1) {{ }}",
    "a step that is a product": f"{ID} for (int k = 0, at = 0; k < 2; ++k, at *= 2) {{ }}",
    "a step that varies": f"{ID} for (int k = 0, at = 0; k < 2; ++k, at += i) {{ }}",
    "a walk that is set": f"{ID} for (int k = 0, at = 0; k < 2; ++k, at += 1) {{ at = 3; }}",
    "a walk after its loop": f"{ID} for (int k = 0, at = 0; k < 2; ++k) {{ }} y[i] = x[at];",
    "a loop that runs down": "for (int k = 3; k >= 0; --k) { }",
    "a counter that is set": "for (int k = 0; k < 4; ++k) { k = 3; }",
    "an index that is read": f"{ID} int j = 3; y[j] = x[i];",
    "a test of data": f"{ID} if (x[i] > 0.0f) {{ y[i] = 0.0f; }}",
    "a name twice": f"{ID} float a = 0.0f; {{ float a = 1.0f; }}",
    "a name out of sight": f"{ID} {{ float a = 1.0f; }} y[i] = a;",
    "a barrier under else": f"{ID} if (i < 8) {{ }} else {{ barrier(CLK_LOCAL_MEM_FENCE); }}",
    "an octal number": f"{ID} y[i] = x[010];",
    "writing what is const": f"{ID} x[i] = 0.0f;",
    "a comment that ends before its line": f"{ID} // \r x[i] = 0.0f;",
    "a comment that goes on": "// \\\n y[0] = 0.0f;",
    "a comment that hides lines": f"{ID} {HIDDEN}\n // */ ; y[0] = 0.0f;\n",
    "a barrier in a comment": f"{ID} {HIDDEN} barrier(CLK_LOCAL_MEM_FENCE);\n // */ ;\n",
    "a comment's end": f"{ID} y[i] = 1.0f */ x[0];",
    "an index that counts down": f"{ID} for (int k = 0; k < 4; ++k) {{ y[i] = x[--k]; }}",
    "an index that counts up": f"{ID} for (int k = 0; k < 4; ++k) {{ y[i] = x[++k]; }}",
    "a counter that is read and set": f"{ID} for (int k = 0; k < 4; ++k) {{ y[i] = x[k-- - 0]; }}",
    "two signs without a space": f"{ID} y[i] = x[i] --x[i];",
    "other brackets": f"{ID} y<:i:> = x[i];",
    "another way to add": f"{ID} y[i] += x[i];",
    "a comment before what is no token": f"{ID} // y[i] = x[i];\n @",
    "inline assembly": '__asm__("");',
    "a directive": "\n#define y x\n",
    "a pointer to whole numbers": f"{ID} *(__global int *)&y[i] = 3;",
    "a pointer to the whole": f"{ID} *(__global float4 *)(y) = 3;",
    "a pointer turned round": f"{ID} *(__global float4 *)(i + y) = 3;",
    "a pointer as a value": f"{ID} y[i] = y;",
    "an end that is missing": "{",
}


@pytest.mark.parametrize("name", NOT_PRINTED)
def test_what_kernels_are_not_printed_in_is_not_read(name: str) -> None:
    found = proof(NOT_PRINTED[name])
    assert about(NOT_PRINTED[name]) == {Kind.TEXT}, found.summary()
    assert "line" in found.summary()


def test_a_refusal_says_what_was_found_and_expected_and_where() -> None:
    assert "line 5: expected '=', found ';'" in proof(f"{ID} const int j; y[i] = x[i];").summary()


LAUNCHES: dict[str, dict[str, Any]] = {
    "another name": {"name": "g"},
    "another group": {"local_size": (8, 1, 1)},
    "part of a group": {"global_size": (18, 1, 1)},
    "arguments exchanged": {"arguments": ("y", "x")},
    "one argument": {"arguments": ("x",)},
    "one buffer twice": {"arguments": ("y", "y")},
    "a buffer that is not there": {"arguments": ("x", "z")},
    "an output that is packed": {"prepack": True},
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_launch_that_does_not_fit_the_text_is_refused(name: str) -> None:
    found = prove_texts(plan(FINE["copy"], **LAUNCHES[name]))
    assert Kind.LAUNCH in {v.obligation.kind for p in found for v in p.failures}


def test_a_larger_launch_is_out_of_bounds() -> None:
    assert about(FINE["copy"], global_size=(20, 1, 1)) == {Kind.BOUNDS}


# ---- several kernels


def copies(*pairs: tuple[str, str], lying: dict[str, int], arena: int = 2048) -> Plan:
    """A plan with a kernel for each pair (from, to) of buffers, which copies the first to the
    second; `lying` gives the places of temporaries, of 64 bytes each, in an arena of `arena`
    bytes."""
    body = FINE["copy"]
    kernels = tuple(replace(plan(body).kernels[0], arguments=pair) for pair in pairs)
    buffers = [Buffer(t, "float", (16,), 64, Role.TEMPORARY, at) for t, at in lying.items()]
    return Plan(kernels, (*plan(body).buffers, *buffers), 0, arena)


def test_temporaries_take_turns_in_the_same_bytes() -> None:
    chain = (("x", "a"), ("a", "b"), ("b", "c"), ("c", "y"))
    assert not failures(copies(*chain, lying={"a": 0, "b": 512, "c": 0}))
    assert failures(copies(*chain, lying={"a": 0, "b": 0, "c": 512}))


def test_a_temporary_still_to_be_read_is_not_overwritten() -> None:
    kernels = (("x", "a"), ("x", "b"), ("b", "c"), ("a", "c"), ("c", "y"))
    assert not failures(copies(*kernels, lying={"a": 0, "b": 512, "c": 1024}))
    assert failures(copies(*kernels, lying={"a": 0, "b": 0, "c": 1024}))


def test_a_temporary_lies_inside_the_arena_where_devices_can_begin() -> None:
    kernels = (("x", "a"), ("a", "y"))
    assert not failures(copies(*kernels, lying={"a": 512}, arena=512 + 64))
    assert failures(copies(*kernels, lying={"a": 512}, arena=512 + 60))
    assert failures(copies(*kernels, lying={"a": 64}))
    assert failures(copies(*kernels, lying={"a": -512}))


def test_what_a_kernel_reads_was_written() -> None:
    assert failures(copies(("a", "y"), ("x", "a"), lying={"a": 0}))
    assert failures(copies(("x", "a"), lying={"a": 0}))  # and the output too


# ---- whatever text


def test_any_text_is_proved_or_refused_in_words() -> None:
    """A printed kernel in which a random token is left out, doubled or replaced by other tokens is
    proved, or refused with a message; nothing is raised."""
    random, word = Random(1), re.compile(r"\w+|[^\w\s]")
    for case in by_hand():
        launch = case.made.plan.kernels[-1]
        places = [found.span() for found in word.finditer(launch.text)]
        (start, end), (other, last) = random.sample(places, 2)
        new = random.choice(("", launch.text[start:end] * 2, launch.text[other:last]))
        text = launch.text[:start] + new + launch.text[end:]
        kernels = (*case.made.plan.kernels[:-1], replace(launch, text=text))
        for found in prove_texts(replace(case.made.plan, kernels=kernels)):
            assert found.ok or found.summary()


def test_a_name_that_has_a_meaning_is_not_declared() -> None:
    body = f"{LID} const int CLK_LOCAL_MEM_FENCE = 2; barrier(CLK_LOCAL_MEM_FENCE);"
    assert about(body) == {Kind.TEXT}


def test_a_printer_that_forgets_barriers_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a printer that leaves barriers out, the statement tree is proved, but its text is
    refused as a race with a line number."""

    def forgetful(kernel: Tree) -> tuple[str, tuple[str, ...]]:
        text, needs = print_kernel(kernel)
        return re.sub(r".*barrier\(.*\n", "", text), needs

    monkeypatch.setattr("codegen.compile.print_kernel", forgetful)
    made = generate(parse(PROGRAMS["stencil tiled"]))
    assert all(prove(kernel).ok for kernel in made.kernels)
    with pytest.raises(Unsupported, match=r"race: line \d+"):
        demand_proofs(made)
