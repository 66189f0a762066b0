"""Tests of sums of products of bytes that are made by dot products of four bytes: right on every
device, with the instruction or without; refused where the term has other products."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from codegen.tree.kernel_values import Load, kind_of, loads
from codegen.tree.memories import Space
from codegen.tree.statements import Statement, Store, calls, statements
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.instructions.entries.dot_products import ARM
from ir.instructions.table import DOTS
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import form_named, forms
from rewrites.tuning.lower import lower
from tests.support.agreement import SMALL, example

PRODUCT = "f(const a : [[{s}]12]5, b : [[{t}]12]7) = map(x -> map(y -> dot(x, y), b), a)"
TYPES = {"dot_ss": ("char", "char"), "dot_su": ("char", "uchar"), "dot_uu": ("uchar", "uchar")}


def kernels(p: Program, form: str, seed: int) -> Generated:
    """The kernels of a program by this form of the family `registers`, at a point drawn by `seed`;
    they are proved."""
    low = lower(p, form_named(p, "registers", form))
    _, (point,) = points(low, profile("cpu"), 1, seed)
    made = generate(bound(low.program, point), max_work_group=64)
    demand_proofs(made)
    return made


def agrees(session: Session, p: Program, made: Generated) -> None:
    inputs = random_inputs(p, int(np.random.default_rng().integers(1 << 30)))
    out = session.build(made.plan, checking=True)(inputs)
    assert np.array_equal(out, evaluate(p, inputs))


@pytest.mark.parametrize("name", DOTS)
def test_products_of_matrices_of_bytes_are_made_by_dot_products(
    sessions: tuple[Session, ...], name: str
) -> None:
    s, t = TYPES[name]
    for a, b in {(s, t), (t, s)}:
        p = parse(PRODUCT.format(s=a, t=b))
        for form in ("", " relaid", " items tall"):
            made = kernels(p, name.replace("_", "-") + form, seed=len(form))
            assert any(calls(kernel) for kernel in made.kernels)
            for session in sessions:
                agrees(session, p, made)


@pytest.mark.parametrize("name", ["qlinear_conv", "tflite_conv"])
@pytest.mark.parametrize("form", ["", "padded relaid", "im2col", "planes items"])
def test_quantised_convolutions_without_zero_points_are_made_by_them(
    sessions: tuple[Session, ...], name: str, form: str
) -> None:
    p = example(name, {**SMALL[name], "C": 8})
    dot = "dot-su" if name == "qlinear_conv" else "dot-ss"
    made = kernels(p, " ".join(filter(None, (dot, form, "zero-points"))), seed=3)
    for session in sessions:
        agrees(session, p, made)


IN_FLOATS = """
{name}(const weights : [[[{t}]3]3]C, image : [[[{t}]C]W]H) =
  map2d(window -> map((channel, kernel) ->
      {t}_sat_rte(relu(reduce(0.0, (acc, (x, w)) -> acc + float(x) * float(w),
        zip(channel, flatten(kernel))))),
    zip(transpose(join(window)), weights)), slide2d(3, {step}, pad2d(1, 0, image)))
where C = 16, W = 9, H = 7
"""


@pytest.mark.parametrize(("t", "step"), [("char", 1), ("uchar", 2)])
def test_depthwise_sums_in_floats_are_made_by_dot_products_of_taps_beside_each_other(
    sessions: tuple[Session, ...], t: str, step: int
) -> None:
    """A depthwise convolution of bytes, with 3 × 3 taps, is right, and loads its channels as
    vectors. The four factors of a dot product are three taps beside each other and a zero."""
    p = parse(IN_FLOATS.format(name="depthwise", t=t, step=step))
    dot = "dot-ss" if t == "char" else "dot-uu"
    made = kernels(p, f"{dot} relaid items tall across in-ints", seed=step)
    loaded = [e for s in statements(made.kernels[-1].body) for e in _loads(s)]
    assert {e.width for e in loaded if e.memory.space is Space.GLOBAL} == {_width(made)}
    for session in sessions:
        agrees(session, p, made)


def _loads(s: Statement) -> Iterator[Load]:
    return loads(s.value) if isinstance(s, Store) else iter(())


def _width(made: Generated) -> int:
    """The width of the vectors in which the last kernel stores results."""
    stores = [s for s in statements(made.kernels[-1].body) if isinstance(s, Store)]
    (width,) = {kind_of(s.value).width for s in stores if s.memory.space is Space.GLOBAL}
    return width


def test_operands_that_rows_share_are_not_loaded_across() -> None:
    p = parse(PRODUCT.format(s="char", t="char"))
    with pytest.raises(Refused, match="expected operands that all depend on rows"):
        lower(p, form_named(p, "registers", "dot-ss across"))


@pytest.mark.parametrize("sides", [(3, 5), (7, 2)])
def test_sums_of_no_multiple_of_four_get_zeros(
    sessions: tuple[Session, ...], sides: tuple[int, int]
) -> None:
    (a, b), form = sides, "dot-ss" if sides[0] == 3 else "dot-ss relaid"
    p = parse(
        f"f(const a : [[[char]{a}]{b}]5, b : [[[char]{a}]{b}]7) ="
        " map(x -> map(y -> dot(flatten(x), flatten(y)), b), a)"
    )
    made = kernels(p, form, seed=a)
    for session in sessions:
        agrees(session, p, made)


def test_the_same_kernels_run_without_the_instruction(session: Session) -> None:
    p = parse(PRODUCT.format(s="char", t="uchar"))
    made = kernels(p, "dot-su relaid", seed=1)
    other = [
        replace(k, needs=tuple(n.replace("__opencl_c_integer", "no_such") for n in k.needs))
        for k in made.plan.kernels
    ]
    assert tuple(other) != made.plan.kernels
    agrees(session, p, replace(made, plan=replace(made.plan, kernels=tuple(other))))


def test_the_function_of_arm_is_called_where_the_host_says_that_it_is_there() -> None:
    for name in DOTS:
        assert ("arm_dot_acc(a, b, " in DOTS[name].text) == (name != "dot_su")
        assert f"#elif defined({ARM})" in DOTS[name].text or name == "dot_su"


@pytest.mark.parametrize("name", ["dot_ss", "dot_uu"])
def test_what_is_written_for_arm_is_accepted_by_clang(name: str, tmp_path: Path) -> None:
    """When Arm's extension is defined, a kernel's text compiles with Clang, and calls the
    extension's dot product, which Clang declares though no device here has it."""
    clang = next(filter(None, map(shutil.which, ("clang", "clang-15"))), None)
    if clang is None:
        pytest.skip("clang is not installed: apt-get install clang")
    s, t = TYPES[name]
    made = kernels(parse(PRODUCT.format(s=s, t=t)), f"{name.replace('_', '-')} relaid", seed=1)
    file = tmp_path / "kernel.cl"
    file.write_text(made.plan.source)
    how = ["-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-Xclang", "-finclude-default-header"]
    command = [clang, *how, f"-D{ARM}", "-S", "-emit-llvm", "-o", "-", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "arm_dot_acc" in done.stdout


def test_zero_points_have_to_be_out_of_the_sum_first() -> None:
    p = example("qlinear_conv", {**SMALL["qlinear_conv"], "C": 8})
    with pytest.raises(Refused, match="expected sums of products of bytes that dot_su makes"):
        lower(p, form_named(p, "registers", "dot-su"))


def test_programs_without_bytes_have_no_such_forms() -> None:
    p = example("conv2d", SMALL["conv2d"])
    assert not any("dot-" in form.name for form in forms(p, "registers"))
