"""Tests of the record book: when two programs count as the same, what is kept and found again, and
which outcomes are not trusted."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codegen.runtime.devices import Device
from constraints.devices import H200
from explore.__main__ import main
from explore.api import compile
from explore.measure.kept_references import keep_reference, kept_reference
from explore.measure.reference import inputs_of
from explore.measure.reference_file import stored_reference
from explore.options.options import Options
from explore.record_book import record_book
from explore.record_book.book_file import absent_from
from explore.record_book.device_facts import LIMITS, DeviceFacts
from explore.record_book.distance import distance
from explore.record_book.entries import Entry, Place, Subject, entry_from, entry_json, entry_of
from explore.record_book.exchange import lines_of, merge
from explore.record_book.program_identity import Identity, identity_of
from explore.record_book.recalled import front_of as recalled_front
from explore.record_book.recalled import in_turns, recalled, sampled
from explore.record_book.record_book import RecordBook
from explore.record_book.suited import Suited
from explore.record_book.told_of_records import listed
from explore.results.records import Failed, Measured, Record
from explore.results.version import version
from explore.run.book_keeping import place_of, subject_of, suited_to
from explore.run.compiled_variant import Compiled
from explore.run.run import Run
from explore.run.target import profile_of, target_of
from explore.run_store.store import Store
from explore.space.derive_at import DeriveAt, derive_at
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import Derive
from explore.space.neighbours import allowed
from ir.core.nodes import Program
from ir.errors import UserError
from ir.meaning.interpret import evaluate
from ir.parse import parse, parse_file
from rewrites.families.all_families import form_named
from tests.support.sample_runs import sample_run

ROOT = Path(__file__).resolve().parents[2]
CONV = """conv(const weights : [[[[float]C]K]K]M, image : [[[float]C]W]H) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where C = 8, W = 12, H = 12, K = 3, M = 16
"""
RENAMED = """layer(const k : [[[[float]A]B]B]N, x : [[[float]A]Q]P) =
  map2d(y -> map(z -> dot(flatten(y), flatten(z)), k), slide2d(B, 1, pad2d(1, 0.0, x)))
where A = 8, Q = 12, P = 12, B = 3, N = 16
"""
HERE = Place("a device", "its platform", "1.0", json.dumps({"cores": [4]}))


def identity(text: str = CONV, **sizes: int) -> Identity:
    return identity_of(parse(text, "<test>", sizes))


def subject(**sizes: int) -> Subject:
    return Subject(identity_of(parse(CONV, "<test>", sizes)), "conv", CONV)


def suited(**options: Any) -> Suited:
    return suited_to(parse(CONV, "<test>"), Options(**options))


def entries(count: int, made_of: Subject | None = None, seed: int = 0) -> list[Entry]:
    known = made_of or subject()
    return [entry_of(r, known, HERE, version()) for r in sample_run(count, seed)]


@pytest.fixture
def book(tmp_path: Path) -> RecordBook:
    return RecordBook(tmp_path / "records.sqlite")


# ---- programs


def test_programs_that_differ_in_names_alone_are_one() -> None:
    assert identity() == identity(RENAMED)


def test_programs_of_other_sizes_have_the_same_shape_and_others_have_not() -> None:
    other = identity(M=24)
    assert other.shape == identity().shape
    assert other.sizes != identity().sizes
    assert identity(CONV.replace("0.0", "1.0")).shape != identity().shape
    assert identity(CONV.replace("const ", "")).shape != identity().shape
    assert identity(CONV.replace("dot(flatten(window), flatten(kernel))", "0.5")).shape != (
        identity().shape
    )


def test_the_nearest_program_is_the_one_whose_sizes_differ_least() -> None:
    wanted = identity(M=32)
    ranked = sorted(
        [identity(M=64, C=64), identity(M=24), identity(C=64)],
        key=lambda other: distance(wanted, other),
    )
    assert ranked[0] == identity(M=24)
    assert distance(wanted, identity("f(x : [float]n) = sum(x) where n = 8")) == float("inf")


# ---- the book


def test_what_is_added_is_found_again_and_newer_outcomes_replace_older_ones(
    book: RecordBook,
) -> None:
    kept = entries(40)
    book.add(kept)
    book.add(kept[:7])
    found = book.of_program(identity(RENAMED))
    assert sorted(found, key=str) == sorted(kept, key=str)
    assert book.of_program(identity(M=17)) == []
    assert [s.count for s in book.summaries()] == [40]


def test_an_exported_book_merges_as_measured_elsewhere(book: RecordBook, tmp_path: Path) -> None:
    book.add(entries(30))
    file = tmp_path / "out.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines_of(book)))
    with RecordBook(tmp_path / "other.sqlite") as other:
        assert merge(other, file) == merge(other, book.file) == 30
        found = other.of_program(identity())
    assert len(found) == 30
    assert not any(entry.here for entry in found)


def test_a_line_that_is_no_record_is_refused_and_nothing_of_its_file_is_kept(
    book: RecordBook, tmp_path: Path
) -> None:
    good = entry_json(entries(1)[0])
    for name, wrong in (
        ("shape", "../../x"),
        ("sizes", ["1"]),
        ("limits", '{"cores": "rm"}'),
        ("record", good["record"] | {"time_ns": float("1e300"), "status": "measured"}),
        ("record", good["record"] | {"parameters": {"tile; drop": 1}}),
    ):
        file = tmp_path / "bad.jsonl"
        file.write_text(f"{json.dumps(good)}\n{json.dumps(good | {name: wrong})}\n")
        with pytest.raises(UserError, match=r"bad\.jsonl, line 2"):
            merge(book, file)
    assert list(book.every()) == []


def test_an_entry_is_the_same_after_json() -> None:
    for entry in entries(50):
        assert entry_from(json.loads(json.dumps(entry_json(entry))), here=True) == entry


def test_a_full_book_forgets_the_slow_before_the_fast(tmp_path: Path) -> None:
    kept = entries(600)
    with RecordBook(tmp_path / "small.sqlite", limit_bytes=150_000) as book:
        for start in range(0, 600, 50):
            book.add(kept[start : start + 50])
        found = book.of_program(identity())
        assert (tmp_path / "small.sqlite").stat().st_size < 300_000
    assert 20 < len(found) < 600
    best = min(kept, key=lambda e: e.time_ns or float("inf"))
    assert found[0].record.variant.id == best.record.variant.id


def test_a_full_book_forgets_what_compilers_said_before_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = [os.urandom(2000).hex() for _ in range(60)]
    with RecordBook(tmp_path / "small.sqlite") as book:
        book.add(entries(20))
        alone = book._bytes()
        for number, text in enumerate(noise):
            monkeypatch.setattr(time, "time", lambda now=number: now + 1.0)
            book.keep_code(str(number), text)
        book.shrink(alone + 60_000)
        assert book._bytes() <= alone + 60_000
        assert len(list(book.every())) == 20
        kept = [n for n in range(60) if book.code(str(n)) is not None]
        assert kept == list(range(60 - len(kept), 60))
        assert kept
        book.forget(before=60.0)
        assert [n for n in kept if book.code(str(n)) is not None] == [59]
        book.shrink(alone // 2)
        assert len(list(book.every())) < 20


def test_a_file_of_somebody_else_is_refused_or_only_read(tmp_path: Path) -> None:
    strange = tmp_path / "strange.sqlite"
    for form in (0, 1, 2, 3, 5):  # other programs number the forms of their files, too
        with closing(sqlite3.connect(strange)) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS entry (id INTEGER)")
            connection.execute(f"PRAGMA user_version = {form}")
        before = strange.read_bytes()
        with pytest.raises(UserError, match="not the file of a record book"):
            RecordBook(strange)
        assert strange.read_bytes() == before
    (tmp_path / "text.sqlite").write_text("hello, this is no database at all")
    with pytest.raises(UserError, match="cannot use the records"):
        RecordBook(tmp_path / "text.sqlite")


def test_who_may_only_read_finds_what_another_process_is_writing(
    book: RecordBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.add(entries(3))
    with monkeypatch.context() as changed:
        changed.setattr(os, "access", lambda file, mode: False)
        reader = RecordBook(book.file)
    with reader:
        book.add(entries(9))
        assert len(reader.of_program(identity())) == 9
        with pytest.raises(UserError, match="read-only"):
            reader.add(entries(1))


def test_the_log_of_a_book_is_emptied_when_nobody_reads_in_it_any_more(
    book: RecordBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_book, "LOG", 1 << 16)
    log = book.file.with_name(f"{book.file.name}-wal")
    with closing(sqlite3.connect(book.file, isolation_level=None)) as reading:
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM entry").fetchone()
        for seed in range(3):
            book.add(entries(20, seed=seed))
        assert log.stat().st_size > 1 << 16
        assert reading.execute("SELECT count(*) FROM entry").fetchone() == (0,)
    book.add(entries(1, seed=3))
    assert log.stat().st_size <= 1 << 16
    assert len(book.of_program(identity())) == len(
        {e.record.variant.id for seed in range(3) for e in entries(20, seed=seed)}
        | {e.record.variant.id for e in entries(1, seed=3)}
    )


def test_a_row_that_is_no_entry_is_left_out(book: RecordBook) -> None:
    book.add(entries(3))
    with sqlite3.connect(book.file) as connection:
        connection.execute("UPDATE entry SET details = x'00' WHERE id = 1")
        connection.execute("UPDATE entry SET details = 7 WHERE id = 2")
    assert len(book.of_program(identity())) == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE subject SET name = CAST(x'ff41' AS TEXT)",  # no UTF-8
        "UPDATE subject SET name = 'a' || char(27) || '[2Jb'",
        "UPDATE subject SET sizes = CAST(x'5b315d' AS BLOB)",
        "UPDATE subject SET kinds = replace(hex(zeroblob(9999)), '00', '[')",
        "UPDATE entry SET time_ns = 'soon'",
    ],
)
def test_a_book_that_somebody_changed_can_still_be_listed_and_asked(
    book: RecordBook, change: str
) -> None:
    book.add(entries(3))
    with sqlite3.connect(book.file) as connection:
        connection.execute(change)
    assert all(line.isprintable() for line in listed(book))
    recalled(book, identity(M=32), HERE, version(), suited())
    recalled(book, identity(), HERE, version(), suited())
    assert len(list(book.every())) <= 3


def test_nothing_in_a_book_that_is_only_read_counts_as_tried(book: RecordBook) -> None:
    book.add(entries(30))
    with RecordBook(book.file, reading=True) as shipped:
        known = recalled(shipped, identity(), HERE, version(), suited())
    assert known.again == ()
    assert known.tried == frozenset()
    assert known.first


@pytest.mark.parametrize("line", [b"\xff\xfe", b'{"record": ' + b"[" * 50_000])
def test_lines_that_are_no_text_or_never_end_are_refused(
    book: RecordBook, tmp_path: Path, line: bytes
) -> None:
    (tmp_path / "in.jsonl").write_bytes(line + b"\n")
    with pytest.raises(UserError, match="line 1"):
        merge(book, tmp_path / "in.jsonl")


def test_a_number_that_no_float_holds_is_refused(book: RecordBook, tmp_path: Path) -> None:
    (text, *_) = (json.dumps(entry_json(e)) for e in entries(1))
    first = text.index('"elapsed_s": ') + len('"elapsed_s": ')
    rest = text[first:].index(",")
    (tmp_path / "in.jsonl").write_text(f"{text[:first]}1{'0' * 400}{text[first + rest :]}\n")
    with pytest.raises(UserError, match="elapsed_s: expected a number"):
        merge(book, tmp_path / "in.jsonl")


# ---- facts of devices

FACTS = DeviceFacts({**dict.fromkeys(LIMITS, 2.5), "bandwidth": None}, ("dot_ss",))


def test_facts_of_a_device_are_found_again_for_the_same_driver_and_version(
    book: RecordBook,
) -> None:
    book.keep_facts(HERE, version(), replace(FACTS, instructions=()), 1.0)
    book.keep_facts(HERE, version(), FACTS, 2.0)
    assert book.facts(HERE, version()) == FACTS
    assert book.facts(HERE, "0.0.1") is None
    assert book.facts(replace(HERE, driver="2.0"), version()) is None
    book.forget(other_than="0.0.1")
    assert book.facts(HERE, version()) is None


def test_facts_that_somebody_changed_are_no_facts(book: RecordBook) -> None:
    book.keep_facts(HERE, version(), FACTS, 1.0)
    for wrong in ("{}", "[]", FACTS.dump().replace("dot_ss", "rm -rf"), "7", ""):
        with sqlite3.connect(book.file) as connection:
            connection.execute("UPDATE device_facts SET facts = ?", [wrong])
        assert book.facts(HERE, version()) is None


def test_a_book_of_the_older_format_is_read_and_brought_up_where_it_may_be_written(
    book: RecordBook,
) -> None:
    kept = entries(5)
    book.add(kept)
    book.close()
    with sqlite3.connect(book.file) as connection:
        connection.execute("DROP TABLE device_facts")
        connection.execute("DROP TABLE code")
        connection.execute("PRAGMA user_version = 1")
        connection.execute("PRAGMA journal_mode = DELETE")
    shipped = sqlite3.connect(f"{book.file.resolve().as_uri()}?mode=ro", uri=True)
    assert absent_from(shipped) == ("device_facts", "code")
    shipped.close()
    older = book.file.read_bytes()
    with RecordBook(book.file.with_name("mine.sqlite")) as mine:
        assert merge(mine, book.file) == 5
    assert book.file.read_bytes() == older, "what is merged stays as it is"
    with RecordBook(book.file) as now:
        assert len(now.of_program(identity())) == 5
        now.keep_facts(HERE, version(), FACTS, 1.0)
        assert now.facts(HERE, version()) == FACTS


def test_a_kept_reference_is_that_of_the_program_and_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program, folder = parse(CONV, "<test>"), tmp_path / "run"
    folder.mkdir()
    assert kept_reference(program, 3, folder) is None
    file = stored_reference(program, 3, folder)
    before = file.read_bytes()
    keep_reference(program, 3, file)
    file.unlink()
    found = kept_reference(program, 3, folder)
    assert found == (file, sha256(before).hexdigest())
    assert file.read_bytes() == before
    assert kept_reference(program, 4, folder) is None
    assert kept_reference(parse(CONV, "<test>", {"M": 24}), 3, folder) is None
    (kept,) = (tmp_path / "cache" / "convlift" / "references").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    assert kept_reference(program, 3, folder) is None


# ---- what a search begins from


def test_only_what_was_measured_here_by_this_version_counts_as_tried(book: RecordBook) -> None:
    mine = entries(30)
    book.add(mine)
    book.add([replace(e, here=False) for e in entries(30, seed=1)])
    book.add([replace(e, version="0.0.1") for e in entries(30, seed=2)])
    newer = replace(HERE, driver="2.0")
    book.add([replace(e, place=newer) for e in entries(30, seed=3)])
    known = recalled(book, identity(), HERE, version(), suited())
    assert known.tried == {e.record.variant.id for e in mine}
    assert {e.record.variant.id for e in known.again} <= known.tried
    assert known.budget(50) == 20 + len(known.again)
    assert known.budget(30) == len(known.again) > 0
    elsewhere = recalled(book, identity(), replace(HERE, driver="3.0"), version(), suited())
    assert elsewhere.again == ()
    assert elsewhere.tried == frozenset()
    assert 0 < len(elsewhere.first) < len(elsewhere.hints)
    assert {*elsewhere.first, *elsewhere.likely} == {*elsewhere.hints}


def test_what_other_options_found_counts_only_where_these_find_the_same(book: RecordBook) -> None:
    rough, exact, wrong = islice(entries(30), 3)
    for which, outcome in (
        (rough, Measured(1.0, 0.0, error=1e-2)),
        (exact, Measured(2.0, 0.0, error=1e-7)),
        (wrong, Failed("verify", "too far off", error=1e-3)),
    ):
        book.add([replace(which, record=replace(which.record, outcome=outcome))])
    names = {e.record.variant.id: e for e in (rough, exact, wrong)}

    def counted(**options: Any) -> tuple[set[str], set[str]]:
        known = recalled(book, identity(), HERE, version(), suited(**options))
        return {*known.tried}, {e.record.variant.id for e in known.again}

    rough_id, exact_id, wrong_id = names
    assert counted() == ({exact_id, wrong_id}, {exact_id})  # 1e-5 is right
    assert counted(max_error=1e-1)[0] == {rough_id, exact_id}  # `wrong` may be right now
    assert rough_id in counted(max_error=1e-1)[1]
    assert counted(domain="io-optimal") == (set(), set())
    other = recalled(book, identity(M=24), HERE, version(), suited())
    assert [h.parameters for h in other.hints] == [exact.record.variant.parameters]


def test_what_some_groups_showed_to_be_slow_counts_beside_what_is_right_and_faster(
    book: RecordBook,
) -> None:
    """A variant that was only tried on some of its groups, so that no result of it was checked, is
    not tried again while one that is right here is faster and needs no more memory."""
    fast, slow = islice((e for e in entries(30) if e.memory_bytes), 2)
    least = min(fast.memory_bytes or 0, slow.memory_bytes or 0)
    checked = Measured(1.0, 0.0, error=1e-3)
    for which, outcome in ((fast, checked), (slow, Measured(4.0, 0.0, error=None))):
        record = replace(which.record, outcome=outcome)
        book.add([replace(which, record=record, memory_bytes=least)])
    both = {e.record.variant.id for e in (fast, slow)}

    def counted(**options: Any) -> frozenset[str]:
        return recalled(book, identity(), HERE, version(), suited(**options)).tried

    assert counted(max_error=1e-2) == both
    assert counted(max_error=1e-5) == frozenset()  # the fast one is wrong, the slow one may be best
    near = replace(fast.record, outcome=replace(checked, time_ns=3.0))
    book.add([replace(fast, record=near, memory_bytes=least)])
    assert counted(max_error=1e-2) == both - {slow.record.variant.id}
    book.add([replace(fast, record=replace(fast.record, outcome=checked), memory_bytes=least + 1)])
    assert counted(max_error=1e-2) == both - {slow.record.variant.id}


def test_variants_that_overflow_are_not_known_where_large_numbers_may_come(
    book: RecordBook,
) -> None:
    program = parse_file(ROOT / "examples" / "vgg.lift")
    (entry,) = entries(1, subject_of(program))
    variant = replace(entry.record.variant, family="matrix", form="mma-f16 patch relaid parts")
    measured = Measured(1.0, 0.0, 0.0)
    book.add([replace(entry, record=replace(entry.record, variant=variant, outcome=measured))])
    for largest, known in ((None, 0), (1e5, 0), (10.0, 1)):
        wanted = suited_to(program, Options(largest=largest))
        found = recalled(book, identity_of(program), HERE, version(), wanted)
        assert len(found.tried) == len(found.again) == known


def test_another_size_gets_hints_and_learns_and_counts_nothing_as_tried(book: RecordBook) -> None:
    book.add(entries(30))
    known = recalled(book, identity(M=24), HERE, version(), suited())
    assert known.tried == frozenset()
    assert known.hints
    assert known.first == ()  # the cost model says which of them to try
    assert known.likely == known.hints
    assert known.learned
    assert known.budget(1000) == 1000
    naive = recalled(book, identity(M=24), HERE, version(), suited(families=("naive",)))
    assert {hint.family for hint in naive.hints} <= {"naive"}


def test_a_point_that_is_not_legal_at_other_sizes_gives_legal_ones_near_it(device: Device) -> None:
    program = parse(CONV, "<test>", {"M": 24, "W": 10, "H": 10})
    form = form_named(program, "registers", "")
    point = (("k", 2), ("tr", 1), ("tx", 14), ("v", 16))
    made = derive_at(DeriveAt(program, form, profile_of(device), (point,)))
    assert isinstance(made, Derived)
    assert made.variants
    for variant in made.variants:
        assert allowed(made.lowered.system, dict(variant.parameters))
    strange = (("k", 2), ("tr", -1), ("tx", 14), ("v", 16))
    nothing = derive_at(DeriveAt(program, form, profile_of(device), (strange, (("q", 1),))))
    assert isinstance(nothing, Derived)
    assert nothing.variants == ()


def test_a_point_with_a_zero_is_found_again_where_it_is_legal() -> None:
    """The parameter `rp` of forms by `wgmma` is 0: no staged line has room beside its pixels."""
    program = parse(CONV, "<test>", {"C": 64, "M": 64, "W": 34, "H": 34})
    form = form_named(program, "matrix", "wgmma-bf16 patch relaid parts")
    point = (("k", 1), ("rp", 0), ("sc", 1), ("sr", 1), ("tr", 1), ("tx", 8), ("ty", 8))
    made = derive_at(DeriveAt(program, form, H200, (point,)))
    assert isinstance(made, Derived)
    assert [variant.parameters for variant in made.variants] == [point]
    far = tuple((p, 32 if p == "ty" else value) for p, value in point)
    fewer = parse(CONV, "<test>", {"C": 64, "M": 64, "W": 18, "H": 18})
    near = derive_at(DeriveAt(fewer, form, H200, (far,)))
    assert isinstance(near, Derived)
    assert near.variants
    assert all(("rp", 0) in variant.parameters for variant in near.variants)


def test_a_parameter_of_a_few_legal_values_is_moved_as_far_as_it_must_be(device: Device) -> None:
    """A vector of 16 channels is no divisor of 20 channels, nor is any number near it."""
    program = parse(CONV, "<test>", {"C": 20, "M": 36, "W": 9, "H": 9})
    form = form_named(program, "winograd", "F4 registers items")
    point = (("k", 8), ("tr", 1), ("tx", 2), ("v", 16), ("vi", 16), ("vo", 16))
    made = derive_at(DeriveAt(program, form, profile_of(device), (point,)))
    assert isinstance(made, Derived)
    found = [dict(variant.parameters) for variant in made.variants]
    assert {p["vi"] for p in found} == {4}
    assert {p["vo"] for p in found} == {4}
    for p in found:
        assert allowed(made.lowered.system, p)


def test_slow_variants_are_learned_from_too() -> None:
    few = sorted(entries(30), key=lambda e: e.time_ns or 0.0)
    assert sampled(few, 30) == few
    some = sampled(few, 10)
    assert len(some) == 10
    assert some[:5] == few[:5]
    assert [few.index(e) for e in some[5:]] == [5, 10, 15, 20, 25]


def test_the_entries_of_several_programs_take_turns() -> None:
    a, b = entries(3), entries(1, subject(M=24))
    assert list(in_turns([a, [], b])) == [a[0], b[0], a[1], a[2]]


# ---- runs


def test_a_program_that_is_known_has_only_its_best_measured_again(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, target = parse(CONV, "<test>"), target_of(device, None, ())
    form, profile = form_named(program, "registers", ""), target.profile
    derived = derive(Derive(program, form, profile, 6, seed=0))
    assert isinstance(derived, Derived)
    mine = Subject(identity(), "conv", CONV)
    times = (5.0, 3.0, 4.0, 9.0)  # nanoseconds that nothing takes: they must not be believed
    outcomes = [*(Measured(time, 0.0, 0.0) for time in times), Failed("build", "no"), None]
    known = [
        replace(
            entry_of(Record(v, outcome), mine, place_of(target), version()), memory_bytes=memory
        )
        for v, memory, outcome in zip(derived.variants, derived.memory, outcomes, strict=True)
        if outcome is not None
    ]
    file, given = tmp_path / "records.sqlite", tmp_path / "conv.lift"
    limits = dict.fromkeys(LIMITS, 4321.0)
    with RecordBook(file) as book:
        book.add(known)
        book.keep_facts(place_of(target), version(), DeviceFacts(limits, ()), 1.0)
    given.write_text(RENAMED)
    options = ["--device", str(device.index), "--variants", "5", "--families", "registers"]
    out = ["--records", str(file), "--jobs", "1", "--out", str(tmp_path / "run")]
    assert main([str(given), *options, *out]) == 0
    assert "it is measured again" in capsys.readouterr().err
    with RecordBook(file) as book:
        again = {e.record.variant.id: e for e in recalled_front(known)}
        after = {e.record.variant.id: e for e in book.of_program(identity())}
    run = Run(tmp_path / "run").records
    assert {r.variant.id for r in run} == again.keys()
    assert after.keys() == {e.record.variant.id for e in known}
    with Store.read(tmp_path / "run") as store:
        bounds = store.environment.bounds
    assert {name: getattr(bounds, name) for name in LIMITS} == limits  # nor were they measured
    for name in again:
        assert (after[name].time_ns or 0) > 100.0


# ---- without a search


def test_a_program_is_compiled_as_records_know_best_and_without_them_too(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # no plans are kept there
    program, target = parse(CONV, "<test>"), target_of(device, None, ())
    form = form_named(program, "registers", "")
    derived = derive(Derive(program, form, target.profile, 2, seed=0))
    assert isinstance(derived, Derived)
    for number, best in enumerate(derived.variants):
        file = tmp_path / f"{number}.sqlite"
        outcomes = [Measured(1.0 if v is best else 9.0, 0.0, 0.0) for v in derived.variants]
        with RecordBook(file) as book:
            book.add(
                entry_of(Record(v, o), subject(), place_of(target), version())
                for v, o in zip(derived.variants, outcomes, strict=True)
            )
        made = compile(RENAMED, device=device, records=file)
        asked = compile(RENAMED, "registers", dict(best.parameters), device=device)
        assert made.plan == asked.plan
        with monkeypatch.context() as changed:
            changed.delattr(RecordBook, "of_program")  # nothing is looked up the second time
            assert compile(RENAMED, device=device, records=file).plan == made.plan
        right(made, parse(RENAMED, "<test>"))
    other = parse(CONV, "<test>", {"M": 24, "W": 10})
    right(compile(other, device=device, records=tmp_path / "0.sqlite"), other)
    right(compile(program, device=device, records=False), program)
    with pytest.raises(UserError, match="no variant"):
        compile(program, device=device, records=False, max_memory="1KiB")
    with pytest.raises(UserError, match="expected the name of a family"):
        compile(program, parameters={"v": 4}, device=device)


def right(made: Compiled, program: Program) -> None:
    """Assert that a compiled program computes what the interpreter does."""
    inputs = inputs_of(program, 3, integers=True)
    assert np.array_equal(made(**inputs), np.asarray(evaluate(program, inputs)))


def test_a_book_is_listed_exported_merged_and_pruned_by_command(
    book: RecordBook, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book.add(entries(20))
    mine, other = ["--records", str(book.file)], ["--records", str(tmp_path / "other.sqlite")]
    assert main(["records", *mine]) == 0
    assert "20 variants" in capsys.readouterr().out
    assert main(["records", "export", str(tmp_path / "out.jsonl"), *mine]) == 0
    assert main(["records", "merge", str(tmp_path / "out.jsonl"), *other]) == 0
    assert main(["records", "list", *other]) == 0
    assert "merged: 20 variants" in capsys.readouterr().out
    assert main(["records", "prune", "--older", "0d", *other]) == 0
    assert "20 records forgotten" in capsys.readouterr().out
    assert main(["records", "prune", *other]) == 1
    assert main(["records"]) == 1  # the variable is empty
    assert "no records are kept" in capsys.readouterr().err


# ---- many processes


def test_processes_that_write_one_book_lose_nothing_when_one_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "records.sqlite"
    command = [sys.executable, "-m", "tests.support.record_writer", str(file)]
    writers = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for seed in (5, 6)
    ]
    said = [list(islice(writer.stdout or (), 20)) for writer in writers]
    for writer in writers:
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
    with RecordBook(file) as book:
        held = {e.record.variant.id for e in book.every()}
    assert {line.strip() for lines in said for line in lines} <= held


def test_what_a_compiler_made_of_a_kernel_is_kept_by_its_key(tmp_path: Path) -> None:
    with RecordBook(tmp_path / "book.sqlite") as book:
        assert book.code("a") is None
        book.keep_code("a", "one")
        book.keep_code("a", "two")
        assert book.code("a") == "two"
        assert book.code("b") is None
    with RecordBook(tmp_path / "book.sqlite") as book:
        assert book.code("a") == "two"
