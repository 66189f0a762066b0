"""Tests of replays of full searches."""

import pytest

from benchmarks.held_out_replay import Kept, Times, program_of, replay
from codegen.runtime.session import Device
from explore.options.options import Options
from explore.record_book.recalled import Recalled
from explore.results.records import Measured, Record
from explore.run.book_keeping import subject_of
from explore.run.candidates import candidates
from explore.run.target import target_of
from ir.parse import parse

CONV = """conv(const weights : [[[[float]C]K]K]M, image : [[[float]C]W]H) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where C = 8, W = 12, H = 12, K = 3, M = 16
"""
FAMILIES = ("registers", "blocked")


def test_a_replay_takes_the_times_of_the_search_that_it_repeats(device: Device) -> None:
    """The full search has 60 variants, the first of which is the fastest by far, and its records
    say so: the best of six is that variant, and nothing is near it."""
    program, target = parse(CONV, "<test>"), target_of(device, None, ())
    full = candidates(
        program, target.profile, Options(variants=60, families=FAMILIES), Kept(), soon=False
    )
    count = len(full.variants)
    records = [
        Record(v, Measured(t, 0.0, 0.0, kernels_ns=(t / len(v.features),) * len(v.features)))
        for v, t in zip(full.variants, [1e4, *(1e5 + 10.0 * n for n in range(count))], strict=False)
    ]
    times = Times.of(records)
    assert times.best == pytest.approx(1e4, rel=0.05)
    options = Options(variants=6, families=FAMILIES)
    known = Recalled(learned=tuple(records)).beginning_with(records[:1])
    found = replay(program, target, known, times, options, Kept())
    assert found.few == pytest.approx(1.0)
    assert found.candidate == pytest.approx(1.0)
    assert found.near == 1


def test_a_layer_is_named_after_its_window_channels_width_and_kernels() -> None:
    sizes = subject_of(program_of("3x3-20x27x36")).identity.sizes
    assert {20, 27, 36} <= set(sizes)
