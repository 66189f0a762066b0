"""Tests that the commands explain themselves: their help and version, programs that are found by
name, and the same words for the same things."""

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from codegen.__main__ import main as codegen
from constraints.__main__ import main as constraints
from explore.__main__ import main as explore
from explore.arguments.command_names import COMMANDS
from explore.files.named_programs import Named, meant, named_programs
from explore.options.options import ways
from explore.results.version import version
from explore.run.run import Run
from ir.__main__ import main as ir
from ir.installed_version import installed_version
from ir.parse import parse, parse_file
from ir.text.counted import counted
from rewrites.__main__ import main as rewrites
from rewrites.families.all_families import FAMILIES

EXAMPLES = Path(__file__).parents[2] / "examples"
Main = Callable[[Sequence[str]], int]
STAGES: dict[tuple[str, ...], Main] = {
    ("ir",): ir,
    ("ir", "eval"): ir,
    ("ir", "fmt"): ir,
    ("rewrites",): rewrites,
    ("constraints",): constraints,
    ("codegen",): codegen,
    ("codegen", "run"): codegen,
    ("codegen", "devices"): codegen,
}
EVERY: dict[tuple[str, ...], Main] = STAGES | {
    ("explore", *words): explore for words in ((), *((name,) for name in COMMANDS))
}
OPTION = re.compile(r"^  (?:-\w|--[\w-]+|[A-Z][\w.]+)\b.*(?:\n {8,}.*)*$", re.MULTILINE)


def said(main: Main, words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The text that a command prints before it leaves with status 0."""
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_help_has_words_for_every_option_and_argument(
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    options = OPTION.findall(said(EVERY[command], [*command[1:], "--help"], capsys))
    assert len(options) >= 2
    assert [line for line in options if not re.search(r"\S(?: {2}|\n) *\S", line)] == []


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_every_command_tells_the_version(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    told = said(EVERY[command], [*command[1:], "--version"], capsys)
    own = command[0] == "explore" and command[1:] != ("devices",)
    assert told == f"convlift {version() if own else installed_version()}\n"


def test_help_lists_every_command_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(explore, ["--help"], capsys)
    for name, command in COMMANDS.items():
        assert re.search(rf"^  {name}\b.* {re.escape(command.line)}$", told, re.MULTILINE)


def test_every_option_of_a_run_tells_its_default_or_may_be_repeated() -> None:
    assert [name for name, way in ways().items() if not way.usual] == ["sizes", "limits"]
    assert ways()["variants"].usual == "1000"


def test_numbers_of_things_are_words_and_one_is_one() -> None:
    found = [counted(n, "variant") for n in (0, 1, 2, 1000)]
    assert found == ["0 variants", "1 variant", "2 variants", "1,000 variants"]


# ---- programs known by name


def test_every_example_and_every_layer_is_a_program() -> None:
    known = named_programs()
    assert {f.stem for f in EXAMPLES.glob("*.lift")} < known.keys()
    assert {"vgg-7", "alexnet-conv2", "mec-cv12"} < known.keys()
    for named in known.values():
        parse_file(named.file, dict(named.sizes))


def test_a_file_goes_before_an_example_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert meant(Path("conv2d")) == [Named("conv2d", EXAMPLES / "conv2d.lift")]
    Path("conv2d").write_text("p(x : [float]3) = x")
    assert meant(Path("conv2d")) == [Named("conv2d", Path("conv2d"))]
    assert meant(Path("mine.lift")) == [Named("mine", Path("mine.lift"))]


def test_a_layer_is_explored_with_its_sizes_and_those_that_are_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    few = ["--profile", "cpu", "--families", "naive", "--variants", "1", "--jobs", "1"]
    assert explore(["alexnet-conv2", "--set", "C=2", "--set", "M=3", *few]) == 0
    kept = Run(Path("runs/alexnet-conv2")).environment.options["sizes"]
    assert kept == {"C": 2, "K": 5, "M": 3, "P": 2, "S": 1, "W": 27}
    assert "1 candidate of 1 legal ones, in 1 form;" in capsys.readouterr().err


def test_a_table_of_layers_is_a_run_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.lift").write_text("p(xs : [float]N) = map(x -> x + 1.0, xs)\nwhere N = 3, K = 1")
    Path("mine.toml").write_text(
        '[short]\nfile = "p.lift"\nN = 4\n[long]\nfile = "p.lift"\nN = 64\n'
    )
    few = ["--profile", "cpu", "--families", "naive", "--variants", "1", "--jobs", "1"]
    assert explore(["mine.toml", *few, "--out", "all"]) == 0
    for name, n in (("short", 4), ("long", 64)):
        assert Run(Path("all") / name).environment.options["sizes"] == {"N": n}
    assert re.search(r"^short:$.*^long:$", capsys.readouterr().out, re.MULTILINE | re.DOTALL)
    Path("mine.toml").write_text("[odd]\nN = 4\n")
    assert explore(["mine.toml", *few]) == 1
    assert "mine.toml: expected [odd] with `file =" in capsys.readouterr().err


def test_the_shell_completes_commands_programs_and_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scripts = {}
    for shell in ("bash", "zsh", "fish"):
        assert explore(["completion", shell]) == 0
        scripts[shell] = capsys.readouterr().out
    words = {"vg": "vgg-7", "sho": "show", "vgg-7 --fam": "--families", "init vg": "vgg"}
    words |= {"show R --der": "--derivation", "completion f": "fish"}
    asked = "".join(
        f"COMP_WORDS=(explore {given}); COMP_CWORD={len(given.split())}; _explore;"
        ' echo "${COMPREPLY[@]}"\n'
        for given in words
    )
    text = scripts["bash"] + asked
    ran = subprocess.run(["bash"], input=text, text=True, capture_output=True, check=True)
    for found, expected in zip(ran.stdout.splitlines(), words.values(), strict=True):
        assert expected in found.split()
    assert not ran.stderr
    assert "bashcompinit" in scripts["zsh"]
    fish = scripts["fish"].splitlines()
    assert any("seen_subcommand_from show' -l derivation" in line for line in fish)


def test_a_misspelt_layer_is_told_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert explore(["vgg7"]) == 1
    assert "no command or example `vgg7`; did you mean `vgg-7`?" in capsys.readouterr().err


def test_init_prints_an_example_or_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert explore(["init", "conv2d"]) == 0
    text = capsys.readouterr().out
    assert parse(text) == parse_file(EXAMPLES / "conv2d.lift")
    assert explore(["init"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert "conv3d             A 3-D convolution: windows of a volume." in listed
    assert any(line.startswith("layers: vgg-0 ") for line in listed)
    assert explore(["init", "--json"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    named = {o["name"]: o for o in objects}
    assert named["conv2d"]["text"] == text
    assert named["conv3d"]["title"] == "A 3-D convolution: windows of a volume."
    assert explore(["init", "conv2d", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == named["conv2d"]
    assert explore(["init", "konv2d"]) == 1
    assert "no example `konv2d`; did you mean `conv2d`?" in capsys.readouterr().err


# ---- families


def test_families_are_listed_a_line_each_and_nothing_is_derived(
    capsys: pytest.CaptureFixture[str],
) -> None:
    alexnet = str(EXAMPLES / "alexnet.lift")
    assert rewrites([alexnet, "--list"]) == 0
    *lines, hint = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(FAMILIES)
    assert lines[0].split(maxsplit=3)[1:3] == ["1", "form"]
    assert "refused" not in "".join(lines)
    assert hint.startswith("forms that exist; --list --family F ")
    assert rewrites([alexnet, "--list", "--family", "strassen", "--set", "W=19"]) == 0
    assert "parameters" in capsys.readouterr().out
