"""Tests of the module `convlift`, by which users import the five packages: its names, its examples,
how its objects are printed, and the arrays that it takes."""

import doctest
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import convlift
import explore.api
from codegen.runtime.session import Device
from explore.results.front import front
from explore.run_store.store import Store
from ir.errors import UserError
from tests.support.sample_runs import ENVIRONMENT, sample_run


@pytest.mark.parametrize("name", convlift.__all__)
def test_a_name_of_the_door_is_there(name: str) -> None:
    assert getattr(convlift, name) is not None


@pytest.mark.parametrize("module", [convlift, explore.api], ids=lambda m: str(m.__name__))
def test_examples_in_docstrings_do_what_they_say(module: ModuleType, device: Device) -> None:
    found = doctest.testmod(module)
    assert found.attempted >= 4
    assert found.failed == 0


def test_a_path_is_told_from_a_text() -> None:
    with pytest.raises(convlift.UserError, match=re.escape("pass Path('conv.lift')")):
        convlift.explore("conv.lift")


class Elsewhere:
    """An array of another library that offers its numbers by DLPack only."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data

    def __dlpack__(self, **_: object) -> object:
        return self.data.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()


class Lost:
    """An array on a device whose numbers cannot be copied to the host: `__array__` raises a
    TypeError."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise TypeError("it lies on another device")


def test_a_size_is_changed_for_one_variant_as_for_a_run(device: Device) -> None:
    doubled = "p(xs : [float]N) = map(x -> x + x, xs) where N = 4"
    for sizes in ({"N": 6}, ["N=6"]):
        made = convlift.compile(doubled, "naive", sizes=sizes, device=device)
        assert made(np.ones(6, np.float32)).tolist() == [2.0] * 6
    with pytest.raises(UserError, match="the program has no size `M`; expected N"):
        convlift.compile(doubled, "naive", sizes={"M": 6}, device=device)


def test_any_array_is_taken(device: Device) -> None:
    double = convlift.compile("p(xs : [float]5) = map(x -> x + x, xs)", device=device)
    xs = np.random.default_rng().normal(size=5).astype(np.float32)
    for given in (xs, Elsewhere(xs)):
        assert np.array_equal(double(given), xs + xs)
    with pytest.raises(convlift.UserError, match="is a list, expected an array of float32"):
        double([1.0] * 5)
    with pytest.raises(convlift.UserError, match="gives no array: it lies on another device"):
        double(Lost())


def test_a_run_is_told_in_a_line_and_drawn(tmp_path: Path) -> None:
    made = sample_run(40, seed=2)
    with Store.create(tmp_path / "run", ENVIRONMENT) as store:
        store.append([*made, *(replace(r, round=9) for r in front(made))])  # measured again
    run = convlift.Run(tmp_path / "run")
    assert re.fullmatch(
        r"<run .*run: 40 variants, \d+ on the front, the best takes [\d.]+ .s>", repr(run)
    )
    html = run._repr_html_()
    assert html.count("<tr>") == 1 + len(run.front)
    assert 0 < html.count("<circle") <= 2 * len(made)
    assert all(r.variant.id in html for r in run.front)
