"""Tests that adjoints and gradients of layers are lowered by several families, proved, and right on
a device, and that a small network learns by them."""

import os
import secrets
from collections.abc import Callable

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import proofs
from codegen.runtime.session import Session
from constraints.devices import profile
from explore import adjoint, compile, gradients
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Let, Program
from ir.core.terms import subterms
from ir.errors import UserError
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.adjoint.program import gradient
from rewrites.families.all_families import first
from tests.support.agreement import Case, disagreement, example
from tests.support.quick_builds import quick_builds as quick_builds

SEED = int(os.environ.get("SEED") or secrets.randbits(16))
LAYERS = {  # an example, the parameter, and its sizes
    "data": ("conv2d", "image", {"C": 4, "W": 7, "H": 6, "M": 8, "S": 1}),
    "data by steps": ("conv2d", "image", {"C": 4, "W": 9, "H": 8, "M": 8, "S": 2}),
    "weights": ("conv2d", "weights", {"C": 4, "W": 9, "H": 6, "M": 8, "S": 2}),
    "depthwise": ("depthwise", "image", {"C": 4, "W": 7, "H": 6, "S": 2}),
    "1x1": ("conv1x1", "weights", {"C": 4, "W": 5, "H": 6, "M": 8}),
    "relu": ("quickstart", "weights", {"C": 4, "W": 5, "H": 6, "M": 8}),
    "largest": ("maxpool", "image", {"C": 3, "W": 7, "H": 9}),
}
WAYS = [
    ("data", ("naive", "registers", "lift", "im2col")),
    ("data by steps", ("registers", "blocked")),
    ("weights", ("registers", "blocked")),
    ("depthwise", ("registers",)),
    ("1x1", ("blocked",)),
    ("relu", ("naive", "registers")),
    ("largest", ("naive",)),
]


@pytest.mark.parametrize(("layer", "family"), [(w, f) for w, families in WAYS for f in families])
def test_a_family_lowers_what_is_derived(session: Session, layer: str, family: str) -> None:
    name, parameter, sizes = LAYERS[layer]
    expect_right(session, gradient(example(name, sizes), parameter), family)


LARGEST = """
largest(weights : [[[float]3]3]2, gates : [float]2, image : [[float]8]8) =
  let sums = map((kernel, g) ->
      map2d(w -> (dot(flatten(w), flatten(kernel)) + g) * (1.0 / (1.0 + exp(-g))),
        slide2d(3, 1, image)), zip(weights, gates))
  map(plane -> map2d(w -> reduce(-inf, (acc, x) -> max(acc, x), flatten(w)),
    slide2d(2, 1, plane)), sums)
"""


@pytest.mark.parametrize("family", ["naive", "registers"])
def test_the_largest_of_what_is_computed_gets_what_comes_to_it(
    session: Session, family: str
) -> None:
    """The gradient of a maximum over computed numbers is right: only one kernel finds which number
    is the largest, as two kernels might round the same numbers in two ways."""
    expect_right(session, gradient(parse(LARGEST), "image"), family)


def test_what_a_kept_value_names_is_made_once() -> None:
    """Which number is the largest is kept in a let; the sums that are compared stand before it, in
    a let of their own, and not inside its value."""
    body = gradient(parse(LARGEST), "image").body
    lets = [e for e in subterms(body) if isinstance(e, Let)]
    assert len(lets) > 1
    assert not any(isinstance(e.value, Let) for e in lets)


def expect_right(session: Session, p: Program, family: str) -> None:
    """Assert that the kernels of p by the first form of a family, at a random point, are proved,
    and that their result on the device is the interpreter's."""
    low = first(p, family)
    _, (point,) = points(low, profile("cpu"), 1, SEED)
    made = generate(bound(low.program, point), max_work_group=64)
    unproved = [proof.summary() for proof in proofs(made) if not proof.ok]
    assert not unproved, f"SEED={SEED}: {point}: {unproved}"
    wrong = disagreement(
        session, Case(f"{family} at {point}", p, made, low.derivation.rounding), True
    )
    assert wrong is None, f"SEED={SEED}: {wrong}"


NETWORK = """
network(weights : [[[float]3]3]4, last : [[float]4]2, image : [[float]8]8) =
  let hidden = map(kernel ->
      map2d(window -> relu(dot(flatten(window), flatten(kernel))), slide2d(3, 1, image)), weights)
  map(row -> dot(row, map(plane -> average(flatten(plane)), hidden)), last)
"""


def test_a_small_network_learns_by_its_gradients(session: Session) -> None:
    """The loss of a network falls where a device computes the gradients, and is at every step that
    of the interpreter."""
    rng = np.random.default_rng(SEED)
    image, wanted = rng.normal(size=(8, 8)), np.array([1.0, -1.0])
    start = {"weights": rng.normal(size=(4, 3, 3)), "last": rng.normal(size=(2, 4))}
    network = parse(NETWORK)
    back = {name: p for name, p in gradients(network).items() if name in start}
    forward = compile(network, device=session.device)
    device = {name: compile(p, device=session.device) for name, p in back.items()}

    def on_device(name: str | None, given: dict[str, np.ndarray]) -> np.ndarray:
        f = forward if name is None else device[name]
        single = {q: given[q].astype(np.float32) for q in f.names}
        return np.asarray(f(**single), np.float64)

    def meant(name: str | None, given: dict[str, np.ndarray]) -> np.ndarray:
        p = network if name is None else back[name]
        made = evaluate(p, {q.var.name: given[q.var.name] for q in p.params})
        assert isinstance(made, np.ndarray)
        return made

    found, expected = (
        losses(f, {**start, "image": image}, wanted, tuple(start)) for f in (on_device, meant)
    )
    assert np.allclose(found, expected, rtol=1e-3), f"SEED={SEED}"
    assert found[-1] < found[0], f"SEED={SEED}: {found}"


def losses(
    f: Callable[[str | None, dict[str, np.ndarray]], np.ndarray],
    given: dict[str, np.ndarray],
    wanted: np.ndarray,
    learned: tuple[str, ...],
) -> list[float]:
    """The squared errors of a network in eight steps of gradient descent on the parameters
    `learned`. f(None, inputs) is the network's result, f(name, inputs) its gradient in a parameter;
    `given` are the inputs and the first weights, `wanted` is the result to learn."""
    made = list[float]()
    for _ in range(8):
        away = f(None, given) - wanted
        made.append(float((away**2).sum()))
        steps = {name: f(name, {**given, "cotangent": 2 * away}) for name in learned}
        given = {**given, **{name: given[name] - 0.005 * steps[name] for name in learned}}
    return made


def test_what_has_no_adjoint_is_a_users_error() -> None:
    with pytest.raises(UserError, match="linear in image, found max"):
        adjoint(example("quickstart", {}), "image")
