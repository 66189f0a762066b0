"""Tests of `python -m constraints`: it prints parameters, constraints and counts, and messages
about mistakes."""

import json
from pathlib import Path

import pytest

from constraints.__main__ import main
from constraints.devices import MALI_G72, limit, profile, with_overrides
from constraints.relations.relations import AtMost, Constraint, System
from constraints.report import report
from ir.core.size import named
from ir.errors import UserError

TILED = """
tiled(x : [float]24) =
  join(mapWorkgroup(0)(t -> mapLocal(0)(e -> e + e, t), split(T, x)))
where T = ?
"""
EXAMPLE = str(Path(__file__).parents[2] / "examples" / "quickstart.lift")


@pytest.fixture
def tiled(tmp_path: Path) -> str:
    path = tmp_path / "tiled.lift"
    path.write_text(TILED)
    return str(path)


def test_a_parametric_text_needs_no_family(tiled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([tiled, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["count"] == 8
    assert found["parameters"] == {"T": [1, 2, 3, 4, 6, 8, 12, 24]}
    assert {"relation": "T divides 24"}.items() <= found["constraints"][-1].items()


def test_the_table_says_where_each_constraint_is_from(
    tiled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([tiled]) == 0
    text = capsys.readouterr().out
    assert "split(T, x)" in text
    assert "8 valid points" in text


def test_a_size_may_be_set_and_a_parameter_fixed(
    tiled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([tiled, "--fix", "T=6", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["count"] == 1


def test_no_variant_is_explained_and_exits_1(
    tiled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([tiled, "--fix", "T=5"]) == 1
    assert "no variant: T = 5 (you fixed it); T = 5 does not divide 24" in capsys.readouterr().out


def test_no_time_to_say_why_is_said(tiled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([tiled, "--fix", "T=5", "--time-limit", "0"]) == 1
    assert "no variant; the time limit is too short to say why" in capsys.readouterr().out


def test_what_is_needed_is_not_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    """If sizes of a program allow no point, the message shows what is too large: here the quotient
    `ceil(16777216, ly * tc)` itself, as its least value is not known."""
    layer = ["--set", "C=3", "--set", "W=4096", "--limit", "buffer_bytes=1000000000000"]
    options = ["--family", "blocked", "--profile", "h200"]
    vgg = str(Path(EXAMPLE).parent / "vgg.lift")
    assert main([vgg, *options, *layer]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "65535 work-groups along dimension 1 < ceil(16777216, ly * tc)" in told
    assert "to round_up(k * lx * tr, lx * ly) adds at most a quarter at family blocked;" in told


def test_a_layer_of_terabytes_has_its_points_counted(capsys: pytest.CaptureFixture[str]) -> None:
    layer = ["--set", "C=100000", "--set", "W=4096", "--set", "H=4096", "--set", "M=1024"]
    roomy = ["--limit", f"memory_bytes={10**15}", "--limit", f"buffer_bytes={10**15}"]
    vgg = str(Path(EXAMPLE).parent / "vgg.lift")
    assert main([vgg, "--family", "mec", "--profile", "h200", *layer, *roomy]) == 0
    assert "valid points" in capsys.readouterr().out
    assert main([vgg, "--family", "mec", "--profile", "h200", *layer]) == 1
    assert f"{4 * 100000 * 4096 * 4096} B needed by image" in capsys.readouterr().out


def test_memory_may_be_limited(tiled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([tiled, "--max-memory", "100B"]) == 1
    assert "the allowed global memory 100 B < 192 B" in capsys.readouterr().out
    assert main([tiled, "--max-memory", "1KiB"]) == 0


def test_limits_of_a_profile_may_be_replaced(
    tiled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([tiled, "--profile", "mali-g72", "--limit", "group_items=4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"]["T"] == [1, 2, 3, 4]


def test_a_family_is_lowered_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([EXAMPLE, "--family", "registers", "--set", "C=4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["count"] > 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--profile", "mali-g99"], "no profile `mali-g99`; did you mean `mali-g7"),
        (["--fix", "U=1"], "has no parameter `U`; expected T"),
        (["--limit", "bytes=1"], "a profile has no number `bytes`"),
        (["--family", "none"], "no family"),
    ],
)
def test_mistakes_end_in_a_message(
    tiled: str, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([tiled, *words]) == 1
    assert message in capsys.readouterr().err


def test_profiles_are_data() -> None:
    assert profile("mali-g72").group_items == 384
    assert with_overrides(MALI_G72, [limit("cores=1")]).cores == 1


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("group_dims=256,128,64", "group_dims", (256, 128, 64)),
        ("vector_widths=4", "vector_widths", (4,)),
        ("dedicated_local=1", "dedicated_local", True),
        ("results=8,64", "results", (8, 64)),
    ],
)
def test_every_number_of_a_profile_can_be_replaced(text: str, name: str, value: object) -> None:
    assert getattr(with_overrides(MALI_G72, [limit(text)]), name) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cores=0", "at least 1"),
        ("cores=1,2", "must be one number"),
        ("group_dims=4", "must be 3 numbers, found 4"),
        ("dedicated_local=2", "must be 0 or 1"),
        ("name=1", "a profile has no number `name`"),
        ("cores=-1", "expected NAME=N"),
        ("cores", "expected NAME=N"),
    ],
)
def test_what_is_no_number_of_a_profile_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        with_overrides(MALI_G72, [limit(text)])


def test_counting_ends_with_the_time() -> None:
    """For a system of twenty parameters with bounded products, whose points cannot be counted in
    0.2 s, the report has a bound of their number, and says that the time was up."""
    names = [f"p{i}" for i in range(20)]
    partners = zip(names, [*names[7:], *names[:7]], strict=True)
    pairs = [AtMost(named(a) * named(b), 4096) for a, b in partners]
    found = [Constraint(AtMost(1, named(p)), f"{p} is a size", p) for p in names]
    found += [Constraint(r, "small", "test") for r in pairs]
    known = report(System(tuple(names), tuple(found)), seconds=0.2)
    assert known.count is None
    assert known.at_most is not None
    assert known.uncounted is not None
    assert known.uncounted.startswith("the time was up")
