"""Tests that a program which the records know is measured again at once: its best variants come
with their plans from the user's cache, or are made again."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.binaries.binary_cache import BinaryCache
from codegen.runtime.devices import Device
from constraints.devices import Profile
from explore.__main__ import main
from explore.building.build_tasks import Again
from explore.building.kept_variants import keep_variants, kept_variant
from explore.building.make_again import variant_again
from explore.options.options import Options
from explore.record_book.recalled import Recalled
from explore.results.front import best_first
from explore.results.records import Failed, Measured, Record, Variant
from explore.run.book_keeping import BookKeeping
from explore.run.exploration import KEPT
from explore.run.run import Run
from explore.run.target import profile_of, target_of
from ir.parse import parse
from tests.explore.test_record_book import CONV, entries
from tests.support.sample_runs import sample_run

POINT = (("k", 2), ("tr", 1), ("tx", 6), ("v", 8))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "convlift" / "variants"


def explored(device: Device, folder: Path, out: str, variants: int) -> list[Record]:
    (folder / "conv.lift").write_text(CONV)
    options = ["--device", str(device.index), "--families", "registers", "--jobs", "1"]
    places = ["--records", str(folder / "records.sqlite"), "--out", str(folder / out)]
    given = [str(folder / "conv.lift"), *options, *places, "--variants", str(variants)]
    assert main(given) == 0
    return Run(folder / out).records


def known_front(device: Device, folder: Path) -> set[str]:
    """The ids of the variants that the records hold for the front of the program."""
    program, file = parse(CONV, "<test>"), folder / "records.sqlite"
    with BookKeeping.begun(file, program, target_of(device, None, ())) as books:
        return {entry.record.variant.id for entry in books.recall(Options(), 1e12).again}


def asked(
    profile: Profile, parameters: tuple[tuple[str, int], ...] = POINT, form: str = ""
) -> Again:
    return Again(0, parse(CONV, "<test>"), "registers", form, parameters, profile)


def test_the_second_run_of_a_program_derives_nothing(
    device: Device, tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = explored(device, tmp_path, "first", 5)
    assert "deriving" in capsys.readouterr().err
    known = known_front(device, tmp_path)
    assert known
    assert len(list(cache.iterdir())) == len(best_first(first, KEPT))
    second = explored(device, tmp_path, "second", 3)
    assert "deriving" not in capsys.readouterr().err
    assert {r.variant.id: r.variant for r in second} == {
        r.variant.id: r.variant for r in first if r.variant.id in known
    }
    outcomes = [r.outcome for r in second]
    assert all(isinstance(o, Measured) and o.error is not None for o in outcomes)


def test_a_search_that_goes_on_measures_what_is_known_first_and_once(
    device: Device, tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explored(device, tmp_path, "first", 5)
    known = known_front(device, tmp_path)
    said = capsys.readouterr().err
    assert "measuring what" in said
    found = [r.variant.id for r in explored(device, tmp_path, "second", 12) if r.round == 0]
    said = capsys.readouterr().err
    assert "deriving" in said
    assert "measuring what" not in said
    assert {*found[: len(known)]} == known
    assert len(found) == len({*found}) == len(known) + 12 - 5


def test_that_no_worker_could_start_tells_nothing_of_variants(
    device: Device, tmp_path: Path
) -> None:
    program, file = parse(CONV, "<test>"), tmp_path / "records.sqlite"
    variant = Variant("naive-00000000", "naive", ())
    with BookKeeping.begun(file, program, target_of(device, None, ())) as books:
        books.keep([Record(variant, Failed("start", "the worker could not start"))])
        assert books.recall(Options(), 1e12).tried == frozenset()
        books.keep([Record(variant, Failed("build", "no"))])
        assert books.recall(Options(), 1e12).tried == {variant.id}


def test_a_run_that_asks_for_smaller_errors_leaves_what_is_right_for_others(
    device: Device, tmp_path: Path
) -> None:
    program, file = parse(CONV, "<test>"), tmp_path / "records.sqlite"
    record = next(r for r in sample_run(8) if r.time_ns is not None and r.error is not None)
    inexact = Failed("verify", "5e-6 is over 1e-6", error=5e-6)
    with BookKeeping.begun(file, program, target_of(device, None, ())) as books:
        books.keep([replace(record, outcome=inexact)])
        assert books.recall(Options(max_error=1e-6), 1e12).tried == {record.variant.id}
        assert books.recall(Options(), 1e12).tried == frozenset()
        books.keep([record])
        books.keep([replace(record, outcome=inexact)])
        assert len(books.recall(Options(), 1e12).again) == 1
        books.keep([replace(record, outcome=replace(inexact, error=0.5))])
        known = books.recall(Options(), 1e12)
        assert not known.again
        assert known.tried == {record.variant.id}


def test_the_known_front_is_measured_beside_as_many_others_as_are_asked_for() -> None:
    (entry, *_), variants = entries(8), tuple(r.variant for r in sample_run(8))
    known = Recalled(again=(entry,), variants=variants)
    assert [known.budget(count) for count in (4, 8, 10)] == [1, 1, 3]
    assert [known.settles(count) for count in (4, 8, 10)] == [True, True, False]


def test_a_variant_that_was_kept_is_the_one_that_is_made(device: Device, cache: Path) -> None:
    program, profile = parse(CONV, "<test>"), profile_of(device)
    made = variant_again(asked(profile))
    assert isinstance(made, Variant)
    assert made.plan is not None
    assert made.derivation
    assert made.rounding is not None
    assert kept_variant(asked(profile)) is None
    keep_variants(program, profile, [made])
    assert kept_variant(asked(profile)) == made


@pytest.mark.parametrize("content", [b"", b"x" * 99])
def test_a_kept_variant_that_is_damaged_is_forgotten(
    device: Device, cache: Path, content: bytes
) -> None:
    program, profile = parse(CONV, "<test>"), profile_of(device)
    made = variant_again(asked(profile))
    assert isinstance(made, Variant)
    keep_variants(program, profile, [made])
    (file,) = cache.iterdir()
    BinaryCache(cache).put(file.name, content)
    assert kept_variant(asked(profile)) is None
    assert not file.exists()


def test_a_variant_that_is_not_legal_is_told(device: Device) -> None:
    wrong = tuple((p, 7 if p == "v" else value) for p, value in POINT)
    found = variant_again(asked(profile_of(device), wrong))
    assert isinstance(found, Failed)
    assert "do not satisfy the constraints" in found.reason


def test_a_form_that_does_not_exist_is_told(device: Device) -> None:
    found = variant_again(asked(profile_of(device), form="of nobody"))
    assert isinstance(found, Failed)
    assert "of nobody" in found.reason


def test_a_front_that_is_not_kept_any_more_is_made_again(
    device: Device, tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explored(device, tmp_path, "first", 5)
    known = known_front(device, tmp_path)
    assert known
    shutil.rmtree(cache)
    assert {r.variant.id for r in explored(device, tmp_path, "second", 5)} == known
    assert capsys.readouterr().err.count("deriving") == 1  # the first time
    assert len(list(cache.iterdir())) == len(known)
