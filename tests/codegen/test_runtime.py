"""Tests of the runtime on hand-written plans, on every device that works here: results are right,
and messages say what goes wrong."""

import gc
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.binaries import binary_cache as cache
from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime import buffer_arrays as arrays
from codegen.runtime.device_memory import stretched
from codegen.runtime.devices import Device
from codegen.runtime.driver_compiler import KEPT
from codegen.runtime.session import (
    BuildFailed,
    GuardViolated,
    PoisonFound,
    Session,
    open_device,
)
from codegen.runtime.timings import ENOUGH
from ir.arena import ALIGNMENT, aligned
from ir.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
N = 256


def buffer(name: str, role: Role, scalar: str = "float", n: int = N) -> Buffer:
    size = {"float": 4, "int": 4, "half": 2}[scalar]
    return Buffer(name, scalar, (n,), n * size, role, 0 if role is Role.TEMPORARY else None)


def kernel(name: str, *arguments: str, n: int = N, prepack: bool = False) -> Kernel:
    return Kernel(name, (n, 1, 1), (16, 1, 1), arguments, prepack, "")


def plan(source: str, kernels: list[Kernel], buffers: list[Buffer]) -> Plan:
    made = tuple(replace(k, text=source) for k in kernels)
    return Plan(made, tuple(buffers), sum(b.bytes for b in buffers), 0)


def edited(plan: Plan, old: str, new: str) -> Plan:
    kernels = (replace(k, text=k.text.replace(old, new)) for k in plan.kernels)
    return replace(plan, kernels=tuple(kernels))


def adding(scalar: str = "float", body: str = "z[i] = x[i] + y[i];") -> Plan:
    """A plan of one kernel that computes z = x + y on arrays of type `scalar`, or what `body` says
    instead."""
    source = f"""kernel void add(global const {scalar} *x, global const {scalar} *y,
                                 global {scalar} *z) {{ int i = get_global_id(0); {body} }}"""
    if scalar == "half":
        source = f"#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n{source}"
    roles = {"x": Role.INPUT, "y": Role.INPUT, "z": Role.OUTPUT}
    buffers = [buffer(name, role, scalar) for name, role in roles.items()]
    return plan(source, [kernel("add", "x", "y", "z")], buffers)


def chain() -> Plan:
    """A plan of four kernels with two temporaries, `a` and the smaller `b`, which share bytes of
    the arena as they are never needed at once."""
    source = """
    kernel void one(global const float *x, global float *a) {
      int i = get_global_id(0); a[i] = 2 * x[i]; }
    kernel void two(global const float *a, global float *z) {
      int i = get_global_id(0); z[i] = a[i] + 1; }
    kernel void three(global const float *x, global float *b) {
      int i = get_global_id(0); b[i] = 3 * x[i]; }
    kernel void four(global const float *b, global float *z) {
      int i = get_global_id(0); z[i] += b[i]; }
    """
    kernels = [
        kernel("one", "x", "a"),
        kernel("two", "a", "z"),
        kernel("three", "x", "b", n=N // 2),
        kernel("four", "b", "z", n=N // 2),
    ]
    buffers = [
        buffer("x", Role.INPUT),
        buffer("a", Role.TEMPORARY),
        buffer("b", Role.TEMPORARY, n=N // 2),
        buffer("z", Role.OUTPUT),
    ]
    return plan(source, kernels, buffers)


def packing() -> Plan:
    """A plan that computes z = x + 10 w', where w' is w reversed; prepack makes a packed copy of 10
    w'. Each run adds 1000 to the copy, so that a second run shows whether prepack was run again."""
    source = """
    kernel void pack(global const float *w, global float *p) {
      int i = get_global_id(0); p[i] = 10 * w[255 - i]; }
    kernel void run(global const float *x, global float *p, global float *z) {
      int i = get_global_id(0); z[i] = x[i] + p[i]; p[i] += 1000; }
    """
    buffers = [
        buffer("w", Role.CONST),
        buffer("p", Role.PACKED),
        buffer("x", Role.INPUT),
        buffer("z", Role.OUTPUT),
    ]
    kernels = [kernel("pack", "w", "p", prepack=True), kernel("run", "x", "p", "z")]
    return plan(source, kernels, buffers)


def numbers(seed: int, n: int = N, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).integers(-50, 50, n).astype(dtype)


X, Y = numbers(1), numbers(2)


# Running


@pytest.mark.parametrize("checking", [False, True])
@pytest.mark.parametrize(("scalar", "dtype"), [("float", np.float32), ("int", np.int32)])
def test_every_device_adds(
    sessions: tuple[Session, ...], scalar: str, dtype: type, checking: bool
) -> None:
    x, y = numbers(1, dtype=dtype), numbers(2, dtype=dtype)
    for session in sessions:
        out = session.build(adding(scalar), checking=checking)({"x": x, "y": y})
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, x + y)


def test_devices_with_halves_add_halves(sessions: tuple[Session, ...]) -> None:
    x, y = numbers(1, dtype=np.float16), numbers(2, dtype=np.float16)
    able = [session for session in sessions if session.device.half]
    if not able:
        pytest.skip("no device here has cl_khr_fp16")
    for session in able:
        out = session.build(adding("half"), checking=True)({"x": x, "y": y})
        np.testing.assert_array_equal(out, x + y)


@pytest.mark.parametrize("checking", [False, True])
def test_temporaries_share_bytes(sessions: tuple[Session, ...], checking: bool) -> None:
    expected = 2 * X + 1
    expected[: N // 2] += 3 * X[: N // 2]
    for session in sessions:
        program = session.build(chain(), checking=checking)
        np.testing.assert_array_equal(program({"x": X}), expected)
        np.testing.assert_array_equal(program({"x": X}), expected)


def test_a_program_runs_again_on_other_inputs(session: Session) -> None:
    program = session.build(adding())
    np.testing.assert_array_equal(program({"x": X, "y": Y}), X + Y)
    np.testing.assert_array_equal(program({"x": Y, "y": Y[::-1]}), Y + Y[::-1])


@pytest.mark.parametrize("checking", [False, True])
def test_prepack_runs_once_for_each_setting_of_the_constants(
    sessions: tuple[Session, ...], checking: bool
) -> None:
    for session in sessions:
        program = session.build(packing(), checking=checking)
        program.set_constants({"w": Y})
        first, second = program({"x": X}), program({"x": X})
        np.testing.assert_array_equal(first, X + 10 * Y[::-1])
        np.testing.assert_array_equal(second, first + 1000)  # still the same packed buffer
        again = program({"x": X, "w": X})
        np.testing.assert_array_equal(again, X + 10 * X[::-1])
        assert program.prepack_ns > 0


def test_constants_that_only_packing_reads_are_freed(session: Session) -> None:
    program = session.build(packing())
    program({"x": X, "w": Y})
    assert set(program._memory.cells) == {"p", "x", "z"}


def test_memory_can_be_released_and_comes_back(session: Session) -> None:
    program = session.build(packing())
    first = program({"x": X, "w": Y})
    program.release()
    np.testing.assert_array_equal(program({"x": X}), first)


def test_launch_uses_the_callers_buffers(session: Session) -> None:
    given = {}
    for name, array in (("x", X), ("y", Y)):
        flags = cl.mem_flags.COPY_HOST_PTR | cl.mem_flags.READ_ONLY
        given[name] = cl.Buffer(session.context, flags, hostbuf=array)
    given["z"] = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, X.nbytes)
    program = session.build(adding())
    program.launch(given)
    out = np.empty_like(X)
    cl.enqueue_copy(session.queue, out, given["z"])
    np.testing.assert_array_equal(out, X + Y)
    assert program._memory.cells == {}
    with pytest.raises(UserError, match="'z' missing"):
        program.launch({"x": given["x"], "y": given["y"]})


# Checking


@pytest.mark.parametrize(
    ("body", "offset"),
    [
        ("z[i] = x[i]; if (i == 7) z[256] = 1;", 1024),
        ("z[i] = x[i]; if (i == 7) z[-1] = 1;", -4),
        ("z[i] = x[i]; if (i == 7) ((global float *)y)[256 + 99] = 1;", 1024 + 396),
    ],
)
def test_a_write_outside_a_buffer_is_caught(
    sessions: tuple[Session, ...], body: str, offset: int
) -> None:
    for session in real(sessions):
        with pytest.raises(GuardViolated, match="kernel 'add'") as caught:
            session.build(adding(body=body), checking=True)({"x": X, "y": Y})
        assert caught.value.offset == offset


def test_a_write_past_a_small_temporary_where_a_large_one_lay_is_caught(
    sessions: tuple[Session, ...],
) -> None:
    wrong = edited(chain(), "b[i] = 3", "b[i + 1] = 3")
    for session in real(sessions):
        with pytest.raises(GuardViolated) as caught:
            session.build(wrong, checking=True)({"x": X})
        error = caught.value
        assert (error.kernel, error.buffer, error.offset) == ("three", "b", 2 * N)


def side_by_side() -> Plan:
    """A plan with two temporaries that are needed at the same time; `b` lies directly behind `a` in
    the arena."""
    source = """
    kernel void one(global const float *x, global float *a) {
      int i = get_global_id(0); a[i] = 2 * x[i]; }
    kernel void two(global const float *x, global float *b) {
      int i = get_global_id(0); b[i] = 3 * x[i]; }
    kernel void three(global const float *a, global const float *b, global float *z) {
      int i = get_global_id(0); z[i] = a[i] + b[i]; }
    """
    kernels = [
        kernel("one", "x", "a"),
        kernel("two", "x", "b"),
        kernel("three", "a", "b", "z"),
    ]
    buffers = [
        buffer("x", Role.INPUT),
        buffer("a", Role.TEMPORARY),
        replace(buffer("b", Role.TEMPORARY), offset=4 * N),
        buffer("z", Role.OUTPUT),
    ]
    return plan(source, kernels, buffers)


@pytest.mark.parametrize("checking", [False, True])
def test_temporaries_lie_side_by_side(sessions: tuple[Session, ...], checking: bool) -> None:
    for session in sessions:
        program = session.build(side_by_side(), checking=checking)
        np.testing.assert_array_equal(program({"x": X}), 5 * X)
        np.testing.assert_array_equal(program({"x": Y}), 5 * Y)


def test_a_write_into_the_temporary_beside_is_caught(sessions: tuple[Session, ...]) -> None:
    wrong = edited(side_by_side(), "b[i] = 3", "b[i - 1] = 3")
    for session in real(sessions):
        with pytest.raises(GuardViolated) as caught:
            session.build(wrong, checking=True)({"x": X})
        assert (caught.value.kernel, caught.value.buffer, caught.value.offset) == ("two", "b", -4)


def test_temporaries_that_overlap_while_they_are_needed_are_caught(
    sessions: tuple[Session, ...],
) -> None:
    overlapping = side_by_side()
    buffers = tuple(replace(b, offset=b.offset and 2 * N) for b in overlapping.buffers)
    for session in real(sessions):
        program = session.build(replace(overlapping, buffers=buffers), checking=True)
        with pytest.raises(GuardViolated, match="kernel 'two'"):
            program({"x": X})


def test_an_arena_that_a_device_cannot_divide_is_refused(session: Session) -> None:
    buffers = tuple(replace(b, offset=b.offset and 4 * N + 4) for b in side_by_side().buffers)
    with pytest.raises(UserError, match=r"expected 'b' at a multiple of .* found it at 1028"):
        session.build(replace(side_by_side(), buffers=buffers))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5000)), min_size=1, max_size=8))
def test_temporaries_share_bytes_between_bands_as_they_do_without(
    drawn: list[tuple[int, int]],
) -> None:
    found = [
        Buffer(f"t{k}", "float", (n,), n, Role.TEMPORARY, ALIGNMENT * unit)
        for k, (unit, n) in enumerate(drawn)
    ]
    places = stretched(found, 1 << 17)
    for b in found:
        start, end = places[b.name]
        assert start % ALIGNMENT == 0
        assert end - start >= b.bytes + (1 << 17)
    for b, c in product(found, found):
        overlap = (b.offset or 0) < aligned((c.offset or 0) + c.bytes)
        assert (places[b.name][0] < places[c.name][1]) == overlap


def test_an_output_left_unwritten_is_caught(sessions: tuple[Session, ...]) -> None:
    for session in sessions:
        with pytest.raises(PoisonFound) as caught:
            session.build(adding(body="if (i != 5) z[i] = x[i];"), checking=True)({"x": X, "y": Y})
        assert (caught.value.count, caught.value.first) == (1, (5,))


def test_a_temporary_read_before_it_is_written_gives_nan(sessions: tuple[Session, ...]) -> None:
    wrong = edited(chain(), "b[i] = 3", "if (i) b[i] = 3")
    for session in sessions:
        program = session.build(wrong, checking=True)
        try:
            spoilt = int(np.flatnonzero(np.isnan(program({"x": X})))[0])
        except PoisonFound as error:  # where arithmetic keeps a NaN's payload
            spoilt = error.first[0]
        assert spoilt == 0


def test_a_result_that_happens_to_be_the_poison_is_no_alarm(sessions: tuple[Session, ...]) -> None:
    """If a kernel copies data that hold the bits of both poisons, checking mode does not report the
    cells of its result as not written."""
    for scalar, dtype in (("int", np.int32), ("float", np.float32)):
        x = numbers(1, dtype=dtype)
        for at, poisons in zip((3, 200), arrays.POISONS, strict=True):
            x.view(np.uint32)[at] = poisons[scalar]
        for session in sessions:
            out = session.build(adding(scalar, "z[i] = x[i];"), checking=True)({"x": x, "y": x})
            assert np.array_equal(out.view(np.uint32), x.view(np.uint32))


def test_beside_a_result_that_happens_to_be_the_poison_what_was_not_written_is_found(
    sessions: tuple[Session, ...],
) -> None:
    x = numbers(1, dtype=np.int32)
    x.view(np.uint32)[[3, 7]] = arrays.POISONS[0]["int"]
    wrong = adding("int", "if (i != 5) z[i] = x[i];")
    for session in sessions:
        program = session.build(wrong, checking=True)
        for _ in range(2):
            with pytest.raises(PoisonFound) as caught:
                program({"x": x, "y": x})
            assert (caught.value.count, caught.value.first) == (1, (5,))


def test_a_packed_element_that_was_not_written_is_found(sessions: tuple[Session, ...]) -> None:
    wrong = edited(packing(), "p[i] = 10 * w[255 - i];", "if (i != 9) p[i] = 10 * w[255 - i];")
    wrong = edited(wrong, "z[i] = x[i] + p[i]; p[i] += 1000;", "z[i] = p[i];")
    for session in sessions:
        with pytest.raises(PoisonFound) as caught:
            session.build(wrong, checking=True)({"x": X, "w": Y})
        assert (caught.value.count, caught.value.first) == (1, (9,))


def test_a_nan_of_the_datas_own_is_not_poison(session: Session) -> None:
    x = np.where(X > 0, X, np.float32(np.nan))
    out = session.build(adding(), checking=True)({"x": x, "y": Y})
    np.testing.assert_array_equal(out, x + Y)


def test_failures_travel_between_processes() -> None:
    for error in (
        GuardViolated("k", "z", -4),
        PoisonFound("z", 3, (0, 1)),
        BuildFailed("line 1: what"),
    ):
        there = pickle.loads(pickle.dumps(error))
        assert (type(there), str(there)) == (type(error), str(error))
        assert vars(there) == vars(error)


def real(sessions: tuple[Session, ...]) -> Iterator[Session]:
    """The sessions on real devices, on which the guards around buffers are tested; a simulator
    watches every access itself."""
    return (session for session in sessions if not session.device.simulator)


# Refusals


def test_a_build_failure_carries_the_compilers_log(sessions: tuple[Session, ...]) -> None:
    for session in sessions:
        with pytest.raises(BuildFailed, match="undeclared_thing"):
            session.build(adding(body="z[i] = undeclared_thing;"))


def test_a_work_group_too_large_is_a_build_failure(session: Session) -> None:
    huge = 2 * session.device.max_work_group
    good = adding()
    wrong = replace(good.kernels[0], global_size=(huge, 1, 1), local_size=(huge, 1, 1))
    with pytest.raises(BuildFailed, match="work-groups of"):
        session.build(replace(good, kernels=(wrong,)))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"x": X}, "'y' missing"),
        ({"x": X, "y": Y, "w": Y}, "the plan has no input `w`; expected one of x, y"),
        ({"x": X, "y": Y[:-1]}, r"'y' is float32 \[255\], expected float32 \[256\]"),
        ({"x": X, "y": Y.astype(np.float64)}, r"'y' is float64 \[256\], expected float32"),
        ({"x": X, "y": Y.tolist()}, "'y' is a list, expected an array of float32"),
    ],
)
def test_bad_inputs_are_the_users_mistake(
    session: Session, inputs: dict[str, np.ndarray], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        session.build(adding())(inputs)


def test_a_constant_not_set_is_named(session: Session) -> None:
    with pytest.raises(UserError, match="constants 'w' missing"):
        session.build(packing())({"x": X})


# Timing


def test_a_timing_adds_up_its_kernels(sessions: tuple[Session, ...]) -> None:
    for session in sessions:
        program = session.build(chain())
        timing = program.time({"x": X}, runs=9, turns=session.copies({"x": X}, 3))
        assert [entry.name for entry in timing.kernels] == ["one", "two", "three", "four"]
        assert timing.runs == 9
        assert not timing.gave_up
        assert 0 < timing.low_ns <= timing.median_ns <= timing.high_ns
        assert timing.prepack_ns == 0


def test_a_program_that_was_checked_is_timed_as_it_is(session: Session) -> None:
    checked = session.build(chain(), checking=True)
    out = checked({"x": X})
    plain = checked.unchecked()
    assert not plain.checking
    assert np.array_equal(plain({"x": X}), out)
    assert plain.time({"x": X}, runs=3).runs == 3


def test_timing_takes_turns_among_the_buffers_that_it_is_given(session: Session) -> None:
    """Two timed runs that are given two sets of buffers use one set each: the output is that of the
    second set."""
    program = session.build(adding())
    turns = [*session.copies({"x": X, "y": Y}), *session.copies({"x": X, "y": 2 * Y})]
    program.time({"x": X, "y": Y}, runs=2, warmup=0, turns=turns)
    out = np.empty_like(X)
    session.read(out, program._memory.view("z"))
    assert np.array_equal(out, X + 2 * Y)


def test_prepack_time_is_beside_the_runs(session: Session) -> None:
    timing = session.build(packing()).time({"x": X, "w": Y}, runs=3)
    assert [entry.name for entry in timing.kernels] == ["run"]
    assert timing.prepack_ns > 0


def test_timing_gives_up_on_what_is_too_slow(session: Session) -> None:
    timing = session.build(adding()).time({"x": X, "y": Y}, runs=50, give_up_above_ns=0.5)
    assert timing.gave_up
    assert timing.runs == 1
    assert timing.median_ns > 0.5


def test_timing_stops_when_runs_agree(session: Session) -> None:
    program = session.build(adding())
    agreed = program.time({"x": X, "y": Y}, runs=30, warmup=1, steady=1e9)
    assert agreed.runs == ENOUGH
    assert program.time({"x": X, "y": Y}, runs=30, warmup=1, steady=0.0).runs == 30


def test_timing_keeps_to_its_time_limit(session: Session) -> None:
    start = time.monotonic()
    timing = session.build(adding()).time({"x": X, "y": Y}, runs=10**6, limit_s=0.2)
    assert time.monotonic() - start < 5
    assert 0 < timing.runs < 10**6


# The cache


def binaries(folder: Path) -> list[Path]:
    return sorted((folder / "convlift" / "programs").glob("*"))


@pytest.fixture
def cached(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    if device.simulator:
        pytest.skip("kernels are not cached for the simulator")
    open_device(device)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return device


def adds(device: Device, options: str = "") -> bool:
    """True if a plan that adds two arrays, built with the compiler's `options`, gives the right
    sums on a device. Its session is new, and has no kernels in memory."""
    built = open_device(device).build(adding(), options)
    return bool(np.array_equal(built({"x": X, "y": Y}), X + Y))


def test_a_second_build_comes_from_the_cache(cached: Device, tmp_path: Path) -> None:
    assert adds(cached)
    (first,) = binaries(tmp_path)
    before = first.stat().st_mtime_ns
    os.utime(first, ns=(0, 0))
    assert adds(cached)
    assert [first] == binaries(tmp_path)
    assert first.stat().st_mtime_ns >= before  # a hit is a use
    assert adds(cached, "-DOTHER")
    assert len(binaries(tmp_path)) == 2


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 4096])
def test_a_damaged_cache_is_built_over(cached: Device, tmp_path: Path, damage: bytes) -> None:
    assert adds(cached)
    (file,) = binaries(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage)
    assert adds(cached)
    assert len(file.read_bytes()) == len(whole)


def test_a_binary_the_driver_refuses_is_built_over(cached: Device, tmp_path: Path) -> None:
    assert adds(cached)
    (file,) = binaries(tmp_path)
    cache.BinaryCache(file.parent).put(file.name, b"not a program")
    assert adds(cached)
    assert len(file.read_bytes()) > 100


def test_an_unwritable_cache_is_no_cache(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_device(device)
    blocked = tmp_path / "a file"
    blocked.write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert adds(device)


def test_what_plans_share_is_compiled_once(cached: Device, tmp_path: Path) -> None:
    session = open_device(cached)
    assert len({kernel.text for kernel in chain().kernels}) == 1
    x = np.ones(N, np.float32)
    first = session.build(chain())({"x": x})
    assert len(binaries(tmp_path)) == 1
    (file,) = binaries(tmp_path)
    file.unlink()
    assert np.array_equal(session.build(chain())({"x": x}), first)
    assert not binaries(tmp_path)


def test_a_session_keeps_few_of_the_kernels_that_it_compiled(cached: Device) -> None:
    """After more than KEPT kernels are compiled, at most KEPT are still held, as a driver may need
    megabytes for each."""

    def compiled() -> int:
        return sum(isinstance(thing, cl.Program) for thing in gc.get_objects())

    before, session = compiled(), open_device(cached)
    for number in range(KEPT + 20):
        session.build(adding(body=f"z[i] = x[i] + {number};"))
    gc.collect()
    assert KEPT <= 40
    assert compiled() - before <= KEPT


def test_the_least_recently_used_binaries_go_first(tmp_path: Path) -> None:
    store = cache.BinaryCache(tmp_path, limit_bytes=600)
    for number, name in enumerate("abcde"):
        store.put(name, bytes(80))
        os.utime(tmp_path / name, ns=(number, number))
    assert store.get("a") == bytes(80)
    store.put("f", bytes(80))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "d", "e", "f"]


def test_a_full_cache_is_not_looked_through_at_every_build(tmp_path: Path) -> None:
    looks = 0

    class Counting(cache.BinaryCache):
        def _evict(self) -> None:
            nonlocal looks
            looks += 1
            super()._evict()

    store = Counting(tmp_path, limit_bytes=100 * 112)
    for number in range(300):
        store.put(f"{number}", bytes(80))
    assert looks <= 1 + 200 // 25 + 1
    assert 75 <= len(list(tmp_path.iterdir())) <= 100


def test_no_two_lists_of_parts_share_a_key() -> None:
    assert cache.key("ab", "c") != cache.key("a", "bc") != cache.key("abc")


# The simulator

UNDER_OCLGRIND = """
import sys
sys.path[:0] = ["."]
import numpy as np
from tests.codegen.test_runtime import X, adding, chain
from codegen.runtime.timings import ENOUGH
from codegen.runtime.session import choose, devices, open_device

assert [device.name for device in devices()] == ["Oclgrind Simulator"]
session = open_device(choose(None))
print(session.build(chain(), checking=True)({"x": X})[:2] - 5 * X[:2])
print(session.build(chain()).time({"x": X}, runs=2).runs)
session.build(adding(body="z[i] = x[i]; if (i == 7) z[256] = 1;"), checking=True)({"x": X, "y": X})
"""


def test_under_oclgrind_its_simulator_is_the_only_device(tmp_path: Path) -> None:
    oclgrind = shutil.which("oclgrind")
    if oclgrind is None:
        pytest.skip("oclgrind is not installed")
    done = subprocess.run(
        [oclgrind, sys.executable, "-c", UNDER_OCLGRIND],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        timeout=120,
    )
    assert done.stdout.split() == ["[1.", "1.]", "2"], done.stderr
    assert "Invalid write of size 4" in done.stderr  # seen by the simulator, not by guards
    assert "Kernel: add" in done.stderr
