"""Tests of instructions: their fragments place every element of a matrix once, and their programs
compute what the instructions do."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ir import FLOAT, Array, Instruct, Lit, UserError, Var, Vector, parse, show, type_of
from ir.core.nodes import Param, Program
from ir.core.terms import variables
from ir.core.types import BYTES, RANGES, Scalar, leaves
from ir.instructions.entry import Across, Entry, Loading
from ir.instructions.fragments import Fragment, as_lanes, as_matrix, held
from ir.instructions.table import ACROSS, DOTS, LOADING, MATRIX, TABLE
from ir.meaning.inputs import STORED, shape_of
from ir.meaning.interpret import evaluate
from tests.support.assembled import assembles

ENTRIES = pytest.mark.parametrize("entry", MATRIX.values(), ids=list(MATRIX))


def sides(f: Fragment) -> tuple[int, int]:
    return f.count(f.rows), f.count(f.columns)


def matrices(entry: Entry) -> tuple[tuple[Var, ...], dict[str, np.ndarray]]:
    """A variable for each operand of an instruction, and a random matrix of whole numbers for each,
    by the variable's name."""
    random = np.random.default_rng(7)
    shapes = [sides(f) for f in entry.fragments]
    given = variables(entry.program.pattern)
    operands = tuple(Var(f"m{n}", v.type) for n, v in enumerate(given))
    assert [shape_of(v.type) for v in given] == shapes
    stored = [STORED[_number(v).name] for v in operands]
    data = {
        v.name: random.integers(0 if t.kind == "u" else -9, 9, shape).astype(t)
        for v, t, shape in zip(operands, stored, shapes, strict=True)
    }
    return operands, data


def _number(v: Var) -> Scalar:
    """The scalar type of the numbers of an operand."""
    (found,) = leaves(v.type)
    assert isinstance(found, Scalar)
    return found


def product_of(data: dict[str, np.ndarray]) -> np.ndarray:
    """The result aᵀ b + c that a matrix instruction makes of its operands, exactly; `data` has a, b
    and c by name."""
    a, b, c = (x.astype(np.float64) for x in data.values())
    return np.asarray(c + a.T @ b)


@ENTRIES
def test_every_element_of_a_matrix_lies_in_one_register_of_one_lane(entry: Entry) -> None:
    for f in (*entry.fragments, *entry.brought):
        matrix = Var("m", Array(Array(FLOAT, sides(f)[1]), sides(f)[0]))
        held = as_lanes(f, matrix)
        assert type_of(held) == Array(Vector(FLOAT, f.count(f.registers)), entry.lanes)
        program = Program("held", (Param(matrix),), held)
        numbered = np.arange(np.prod(sides(f)), dtype=np.float32).reshape(sides(f))
        found = np.asarray(evaluate(program, {"m": numbered}))
        assert sorted(found.ravel().tolist()) == list(range(numbered.size))


@ENTRIES
def test_a_matrix_over_lanes_and_back_is_the_same_matrix(entry: Entry) -> None:
    for f in (*entry.fragments, *entry.brought):
        matrix = Var("m", Array(Array(FLOAT, sides(f)[1]), sides(f)[0]))
        program = Program("again", (Param(matrix),), as_matrix(f, as_lanes(f, matrix)))
        given = np.random.default_rng(0).random(sides(f)).astype(np.float32)
        assert np.array_equal(np.asarray(evaluate(program, {"m": given})), given)


@pytest.mark.parametrize("name", ["mma_bf16", "mma_f16"])
def test_narrow_operands_lie_in_pairs_as_the_manual_says(name: str) -> None:
    """For each lane and place, the fragments hold the element that the formulas of the PTX ISA for
    `mma.m16n8k16` with operands of 16 bits give."""
    for lane, (f, formula) in product(
        range(32),
        (
            (0, lambda g, t, i: (2 * t + i % 2 + 8 * (i >= 4), g + 8 * (i % 4 >= 2))),
            (1, lambda g, t, i: (2 * t + i % 2 + 8 * (i >= 2), g)),
            (2, lambda g, t, i: (g + 8 * (i >= 2), 2 * t + i % 2)),
        ),
    ):
        layout = MATRIX[name].fragments[f]
        for i, element in enumerate(held(layout)[lane]):
            assert divmod(element, sides(layout)[1]) == formula(lane // 4, lane % 4, i)


@pytest.mark.parametrize("name", ["wgmma_bf16", "wgmma_f16"])
def test_a_group_of_four_sub_groups_holds_what_the_manual_says(name: str) -> None:
    """For each lane and place, the fragments hold the element that the figures of the PTX ISA for
    `wgmma` with operands of 16 bits give, twice 16 steps behind each other; and a lane's piece of
    the operand in local memory is a row of eight steps of a core matrix."""
    for lane, (f, formula) in product(
        range(128),
        (
            (0, lambda w, g, t, i: (i // 8 * 16 + i % 2 + 2 * t + i % 8 // 4 * 8,
                                    16 * w + g + i // 2 % 2 * 8)),
            (2, lambda w, g, t, i: (16 * w + g + i // 2 % 2 * 8, 2 * t + i % 2 + i // 4 * 8)),
        ),
    ):  # fmt: skip
        layout = MATRIX[name].fragments[f]
        for i, element in enumerate(held(layout)[lane]):
            expected = formula(lane // 32, lane // 4 % 8, lane % 4, i)
            assert divmod(element, sides(layout)[1]) == expected
    layout = MATRIX[name].fragments[1]
    for lane, i in product(range(128), range(8)):
        assert divmod(held(layout)[lane][i], 32) == (lane // 32 * 8 + i, lane % 32)
    layout = MATRIX[f"{name}_across"].fragments[1]
    for lane, i in product(range(128), range(8)):
        step, column = lane // 32 * 8 + lane % 8, lane // 8 % 4 * 8 + i
        assert divmod(held(layout)[lane][i], 32) == (step, column)


@pytest.mark.parametrize("steps", [16, 32])
def test_bytes_lie_in_fours_as_the_manual_says(steps: int) -> None:
    """For each lane and place, the fragments hold the element that the formulas of the PTX ISA for
    `mma.m16n8k16` and `mma.m16n8k32` with operands of 8 bits give."""
    for lane, (f, formula) in product(
        range(32),
        (
            (0, lambda g, t, i: (4 * t + i % 4 + 16 * (i >= 8), g + 8 * (i % 8 >= 4))),
            (1, lambda g, t, i: (4 * t + i % 4 + 16 * (i >= 4), g)),
            (2, lambda g, t, i: (g + 8 * (i >= 2), 2 * t + i % 2)),
        ),
    ):
        layout = MATRIX[f"mma_su_{steps}"].fragments[f]
        for i, element in enumerate(held(layout)[lane]):
            assert divmod(element, sides(layout)[1]) == formula(lane // 4, lane % 4, i)


@pytest.mark.parametrize(
    ("name", "formulas"),
    [
        (
            "arm_matrix",
            (
                lambda l, i: (l % 4, l // 4),  # a's and b's rows are steps
                lambda l, i: (l // 4, l % 4),
                lambda l, i: (l // 4, l % 4),
            ),
        ),
        (
            "arm_matrix_ss",
            (
                lambda l, i: (4 * (l % 4) + i, l // 4),
                lambda l, i: (4 * (l // 4) + i, l % 4),
                lambda l, i: (l // 4, l % 4),
            ),
        ),
        ("intel_bf16", (lambda l, i: (l, i), lambda l, i: (i, l), lambda l, i: (i, l))),
    ],
)
def test_sixteen_lanes_hold_operands_as_other_vendors_say(
    name: str, formulas: tuple[Callable[[int, int], tuple[int, int]], ...]
) -> None:
    """For each lane and place, the fragments hold the element that Arm's Compute Library's kernel
    gives, and the specification of Intel's extension."""
    for layout, formula in zip(MATRIX[name].fragments, formulas, strict=True):
        for lane, elements in enumerate(held(layout)):
            for i, element in enumerate(elements):
                assert divmod(element, sides(layout)[1]) == formula(lane, i)


def test_a_layout_that_is_no_bijection_is_refused() -> None:
    """A lane that is missing, and a digit that counts both registers and lanes."""
    sizes = {"g": 8, "t": 4, "i": 2}
    for lanes, registers, rows in ((("g",), ("i",), ("t", "i")), (("g", "t"), ("i", "t"), ("i",))):
        with pytest.raises(ValueError, match="expected each digit once in lanes and registers"):
            Fragment(sizes, lanes, registers, rows, columns=("g",))


STEPS, LANES, TWO = ("t", "h", "i"), ("g", "t"), {"g": 8, "t": 4, "h": 2, "r": 2, "i": 2, "j": 2}
PLANTED = {
    "r and h exchanged": (0, Fragment(TWO, LANES, ("r", "h", "i"), STEPS, ("r", "g"))),
    "rows exchanged": (0, Fragment(TWO, LANES, ("h", "r", "i"), STEPS, ("g", "r"))),
    "another order of steps": (1, Fragment(TWO, LANES, ("h", "i"), ("h", "t", "i"), ("g",))),
    "columns exchanged": (2, Fragment(TWO, LANES, ("r", "j"), ("r", "g"), ("j", "t"))),
    "places of results exchanged": (2, Fragment(TWO, LANES, ("j", "r"), ("r", "g"), ("t", "j"))),
    "lanes missing": (1, Fragment(TWO | {"g": 4}, LANES, ("h", "i"), STEPS, ("g",))),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_wrong_layout_of_what_is_brought_is_refused(fault: str) -> None:
    entry, (place, wrong) = MATRIX["mma_bf16"], PLANTED[fault]
    brought = [*entry.brought]
    brought[place] = wrong
    with pytest.raises(ValueError, match="mma_bf16: expected"):
        replace(entry, brought=tuple(brought))


def test_inline_ptx_assembles() -> None:
    assert assembles(TABLE.values())


def test_mma_holds_its_operands_as_the_manual_says() -> None:
    """For each lane and register, the fragments of mma_tf32 hold the element that the formulas of
    the PTX ISA for `mma.m16n8k8` give."""
    a, b, c = MATRIX["mma_tf32"].fragments
    for lane, (f, formula) in product(
        range(32),
        (
            (a, lambda g, t, i: (t + 4 * (i >= 2), g + 8 * (i % 2))),  # a's rows are its steps
            (b, lambda g, t, i: (t + 4 * i, g)),
            (c, lambda g, t, i: (g + 8 * (i >= 2), 2 * t + i % 2)),
        ),
    ):
        rows, columns = sides(f)
        numbered = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        matrix = Var("m", Array(Array(FLOAT, columns), rows))
        held = np.asarray(
            evaluate(Program("held", (Param(matrix),), as_lanes(f, matrix)), {"m": numbered})
        )
        for i in range(f.count(f.registers)):
            assert held[lane, i] == numbered[formula(lane // 4, lane % 4, i)]


@ENTRIES
def test_an_instruction_computes_its_program(entry: Entry) -> None:
    operands, data = matrices(entry)
    params = tuple(map(Param, operands))
    found = evaluate(Program("by it", params, entry.carried_out(*operands)), data)
    assert np.array_equal(np.asarray(found), product_of(data))


@pytest.mark.parametrize(
    ("name", "x", "y", "start", "meant"),
    [
        ("mma_tf32", 1 + 2**-10, 1.0, 0.0, 8 + 2**-7),  # eleven bits of an operand are read
        ("mma_tf32", -1 - 2**-10 - 2**-11, 1.0, 0.0, -8 - 2**-7),
        ("mma_bf16", 1.0, 2.0**-20, 1.0, 1 + 2**-16),
        ("mma_bf16", 1.0, 2.0**-28, 1.0, 1.0),  # 24 bits of a sum are kept, others cut off
        ("mma_bf16", 1.0, 2.0**-28, -1.0, -1 + 2**-24),
        ("mma_f16", 1.0, 2.0**-14, 2.0**14, 2.0**14),
        ("arm_matrix", 1 + 2**-12, 1.0, 0.0, 4 + 2**-10),  # nothing is cut off
    ],
)
def test_an_instruction_cuts_off_what_a_device_does(
    name: str, x: float, y: float, start: float, meant: float
) -> None:
    operands, _ = matrices(MATRIX[name])
    given = [
        np.full(shape_of(v.type), value) for v, value in zip(operands, (x, y, start), strict=True)
    ]
    p = Program("by it", tuple(map(Param, operands)), MATRIX[name].carried_out(*operands))
    data = {v.name: value for v, value in zip(operands, given, strict=True)}
    assert np.all(np.asarray(evaluate(p, data, cuts=True)) == meant)
    assert np.all(np.asarray(evaluate(p, data)) == start + MATRIX[name].steps * x * y)


@ENTRIES
def test_an_instruction_is_written_by_its_name(entry: Entry) -> None:
    operands, _ = matrices(entry)
    program = Program("f", tuple(map(Param, operands)), entry.carried_out(*operands))
    assert f"{entry.name}(" in show(program)
    assert parse(show(program)) == program


def test_an_operand_of_another_type_is_an_error_with_a_place() -> None:
    text = "f(a : [float]32, b : [float<2>]32, c : [float<4>]32) = mma_tf32(a, b, c)"
    with pytest.raises(UserError, match=r"mma_tf32 takes \[float<4>\]32 here, found \[float\]32"):
        parse(text)


def test_too_few_operands_are_an_error() -> None:
    with pytest.raises(UserError, match=r"mma_tf32\(a, b, c\)"):
        parse("f(a : [float<4>]32) = mma_tf32(a, a)")


def test_equal_instructions_are_one_term() -> None:
    instruction, a = MATRIX["mma_tf32"].instruction, Var("a", Array(Vector(FLOAT, 4), 32))
    b = Var("b", Array(Vector(FLOAT, 2), 32))
    assert Instruct(instruction, (a, b, a)) == Instruct(instruction, (a, b, a))
    assert hash(Instruct(instruction, (a, b, a))) != hash(Lit(0.0, FLOAT))


@pytest.mark.parametrize("name", DOTS)
def test_a_dot_product_adds_four_products_of_bytes_to_an_int(name: str) -> None:
    entry = DOTS[name]
    a, b, c = variables(entry.program.pattern)
    program = Program("f", tuple(map(Param, (a, b, c))), entry.carried_out(a, b, c))
    assert f"{name}(" in show(program)
    random = np.random.default_rng()
    for _ in range(50):
        inputs = {v.name: _bytes(random, v) for v in (a, b)}
        products = inputs["a"].astype(np.int64) * inputs["b"].astype(np.int64)
        start = int(random.integers(-(2**31), 2**31))
        right = (start + products.sum()).astype(np.int64).astype(np.int32)
        found = evaluate(program, {**inputs, "c": np.asarray(start, np.int32)})
        assert np.asarray(found) == right


@pytest.mark.parametrize("entry", ACROSS.values(), ids=list(ACROSS))
def test_lanes_get_what_an_exchange_of_numbers_says(entry: Across) -> None:
    xs = Var("xs", Array(FLOAT, entry.lanes))
    program = Program("f", (Param(xs),), Instruct(entry.instruction, (xs,)))
    assert parse(show(program)) == program
    given = np.random.default_rng(1).integers(-99, 99, entry.lanes).astype(np.float32)
    what, *rest = entry.name.split("_")[1:]
    lanes = np.arange(entry.lanes)
    expected = {
        "sum": lambda: given.sum(),
        "max": lambda: given.max(),
        "min": lambda: given.min(),
        "first": lambda: given[0],
        "swap": lambda: given[lanes ^ int(rest[0])],
    }[what]()
    got = np.broadcast_to(expected, given.shape)
    assert np.array_equal(np.asarray(evaluate(program, {"xs": given})), got)
    one = evaluate(Program("f", (Param(xs),), entry.carried_out(xs)), {"xs": given})
    assert np.array_equal(np.asarray(one), got if what == "swap" else expected)


def test_an_exchange_of_other_lanes_than_give_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="lanes_sum_32: expected a number for each of 16 lanes"):
        replace(ACROSS["lanes_sum_32"], lanes=16)


def _bytes(random: np.random.Generator, v: Var) -> np.ndarray:
    """Four random bytes of the type of v, an operand of a dot product; about half are the least or
    largest number of the type."""
    assert isinstance(v.type, Array)
    assert isinstance(v.type.elem, Scalar)
    least, most = RANGES[v.type.elem.name]
    some = random.integers(least, most + 1, 4)
    ends = random.choice([least, most], 4)
    return np.where(random.random(4) < 0.5, ends, some).astype(STORED[v.type.elem.name])


@pytest.mark.parametrize("entry", LOADING.values(), ids=list(LOADING))
def test_lanes_get_pairs_of_the_rows_that_lanes_give(entry: Loading) -> None:
    """Lane 4 g + t gets of matrix m what lane 8 m + g gives at 2 t and 2 t + 1; of a transposed
    one, what lanes 8 m + 2 t and 8 m + 2 t + 1 give at g. Of floats, it gets the one at t."""
    width = 16 // BYTES[entry.scalar.name]
    each = width // 4
    rows = Var("rows", Array(Vector(entry.scalar, width), 32))
    program = Program("f", (Param(rows),), Instruct(entry.instruction, (rows,)))
    assert parse(show(program)) == program
    given = np.arange(32 * width, dtype=np.float32).reshape(32, width) % 251
    found = np.asarray(evaluate(program, {"rows": given})).astype(np.float32).reshape(32, -1)
    for lane, m, i in product(range(32), range(found.shape[1] // each), range(each)):
        g, t = divmod(lane, 4)
        at = each * t + i
        right = given[8 * m + at, g] if "trans" in entry.name else given[8 * m + g, at]
        assert found[lane, each * m + i] == right


@pytest.mark.parametrize("entry", LOADING.values(), ids=list(LOADING))
def test_a_matrix_is_loaded_as_its_layout_says(entry: Loading) -> None:
    steps, others = entry.held.sides
    matrix = Var("matrix", Array(Array(entry.scalar, others), steps))
    numbers = {"matrix": np.arange(steps * others, dtype=np.float32).reshape(steps, others) % 251}
    by_it = Program("f", (Param(matrix),), entry.carried_out(matrix))
    meant = Program("f", (Param(matrix),), as_lanes(entry.held, matrix))
    assert np.array_equal(
        np.asarray(evaluate(by_it, numbers)), np.asarray(evaluate(meant, numbers))
    )


def test_loads_of_another_matrix_or_too_few_lanes_are_refused() -> None:
    entry = LOADING["ldmatrix_x4_bf16"]
    with pytest.raises(ValueError, match="ldmatrix_x4_bf16: expected two layouts of one matrix"):
        replace(entry, given=LOADING["ldmatrix_x2_bf16"].given)
    with pytest.raises(ValueError, match="ldmatrix_x4_bf16: expected layouts over 16 lanes"):
        replace(entry, lanes=16)
