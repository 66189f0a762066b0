"""Tests that the examples of gradients, which are written by hand, compute the same as the
gradients that are derived from the layers."""

import os
import secrets
from pathlib import Path
from random import Random

import numpy as np
import pytest

from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse_file
from rewrites.adjoint.program import adjoint
from tests.support.agreement import EXAMPLES, example

SEED = os.environ.get("SEED") or secrets.token_hex(4)
FILES = sorted((EXAMPLES / "gradients").glob("*.lift"))


def layer(name: str, r: Random) -> tuple[str, dict[str, int]]:
    """The name of the example program that computes the layer `name` without its ReLU, and random
    sizes for it."""
    sizes = {"W": r.randint(5, 8), "H": r.randint(5, 8), "C": r.randint(1, 4), "M": r.randint(1, 4)}
    match name:
        case "vgg":
            return "conv2d", {**sizes, "K": 3, "S": 1, "P": 1}
        case "resnet":
            return "conv2d", {**sizes, "K": 7, "S": 2, "P": 3}
        case "depthwise":
            return name, {k: sizes[k] for k in "WHC"}
    return name, sizes


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_gradient_is_what_is_derived(file: Path) -> None:
    name, parameter = file.stem.rsplit("_", 1)
    r = Random(f"{SEED} {file.stem}")
    source, sizes = layer(name, r)
    own = {k: n for k, n in sizes.items() if k in "CWHM"}
    if name == "resnet":
        rest = r.randrange(2)  # of the padded image, in no window
        sizes |= {"W": 11 + rest, "H": 11 + rest}
        own |= {"W": 6, "H": 6, "R": rest}
    derived, written = adjoint(example(source, sizes), parameter), parse_file(file, own)
    given = random_inputs(written, r.randrange(1 << 16), integers=True)
    assert {q.var.name for q in derived.params} == set(given)
    found, expected = evaluate(written, given), evaluate(derived, given)
    assert np.array_equal(np.asarray(found), np.asarray(expected)), f"SEED={SEED}: {sizes}"
