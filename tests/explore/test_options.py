"""Tests that a run's options have the same names, meanings and defaults on the command line, in
Python, and in a stored run."""

import argparse
import json
from dataclasses import fields
from typing import Any

import pytest

from explore.arguments.option_groups import add_options, options_of
from explore.commands.network_commands import net
from explore.options.options import PEERS, Asked, Options, ways
from explore.peers.peers import KNOWN

WRITTEN = {
    "variants": ("7", 7),
    "seed": ("3", 3),
    "families": ("naive,blocked", ("naive", "blocked")),
    "max_memory": ("64MiB", 64 << 20),
    "domain": ("io-optimal", "io-optimal"),
    "max_error": ("1e-3", 1e-3),
    "largest": ("6e4", 6e4),
    "time_limit": ("10m", 600.0),
    "jobs": ("2", 2),
    "compile": ("12", 12),
    "strategy": ("random", "random"),
    "against": ("torch", ("torch",)),
    "sizes": ("C=64", {"C": 64}),
    "limits": ("cores=4", {"cores": 4}),
}
NAMES = [f.name for f in fields(Options)]


def parsed(*words: str) -> Options:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return options_of(parser.parse_args(words))


def test_keywords_of_python_are_the_fields_and_each_is_tested_here() -> None:
    assert list(Asked.__annotations__) == NAMES
    assert list(WRITTEN) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_option_means_the_same_wherever_it_is_given(name: str) -> None:
    text, plain = WRITTEN[name]
    asked: dict[str, Any] = {name: plain}
    in_python = Options.of(**asked)
    assert in_python != Options()
    assert parsed(ways()[name].flag, text) == in_python
    written: dict[str, Any] = {name: text}
    assert Options.of(**written) == in_python
    stored = json.loads(json.dumps(in_python.as_json()))
    assert Options.from_json(stored) == in_python


def test_what_is_not_given_is_as_by_default() -> None:
    assert parsed() == Options.of() == Options() == Options.from_json({})


def test_an_option_of_many_is_given_again_and_the_last_of_a_name_counts() -> None:
    words = ["--families", "naive,lift", "--families", "naive,blocked", "--set", "C=1"]
    again = parsed(*words, "--set", "A=2", "--set", "C=3", "--limit", "group_dims=8,8,1")
    assert again.families == ("naive", "lift", "blocked")
    assert again.sizes == (("A", 2), ("C", 3))
    assert again == Options.of(
        families=["naive", "lift,blocked"],
        sizes={"C": 3, "A": 2},
        limits={"group_dims": (8, 8, 1)},
    )


def test_every_peer_that_may_be_asked_for_is_there() -> None:
    assert set(KNOWN) == set(PEERS)


@pytest.mark.parametrize("option", ["--out", "--beside"])
def test_what_needs_a_run_of_a_network_is_refused_where_none_is_kept(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["model.onnx", "--estimate", "--profile", "cpu", option, "onnxruntime"]
    with pytest.raises(SystemExit, match="2"):
        net(words)
    assert f"{option} needs a run: expected no --tried or --estimate" in capsys.readouterr().err
