"""Tests of what a user reads where a model is not converted for ncnn. The converter is played by
programs of this file."""

from pathlib import Path

import numpy as np
import pytest

from explore.networks import ncnn_engine
from ir.errors import UserError

FLOATS = [np.zeros((1, 3), np.float32)]


def convert_by(program: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Convert a model into the folder `place` by a converter that is this shell program."""
    converter = place / "pnnx"
    converter.write_text(f"#!/bin/sh\n{program}\n")
    converter.chmod(0o755)
    monkeypatch.setattr(ncnn_engine, "_converter", lambda: converter)
    ncnn_engine.convert(Path("given.onnx"), FLOATS, place)


def test_a_converter_is_told_the_shapes_and_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert_by('echo "$@" > told; touch model.ncnn.param', tmp_path, monkeypatch)
    assert "inputshape=[1,3]f32 " in (tmp_path / "told").read_text()


def test_the_last_words_of_a_converter_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"cannot convert given.onnx for ncnn:\nno such operator"):
        convert_by("echo no such operator", tmp_path, monkeypatch)


def test_a_converter_that_does_not_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ncnn_engine, "LIMIT_S", 0.1)
    with pytest.raises(UserError, match=r"did not convert given.onnx within 0.1 s"):
        convert_by("exec sleep 60", tmp_path, monkeypatch)


def test_a_type_that_the_converter_has_no_word_for_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no model with inputs of complex64: expected float32, "):
        ncnn_engine.convert(Path("given.onnx"), [np.zeros(2, np.complex64)], tmp_path)
