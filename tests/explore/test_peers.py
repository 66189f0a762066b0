"""Tests of peers: which programs have one, how it is measured, and that its times are stored."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from codegen.runtime.devices import Device
from explore.__main__ import main
from explore.measure.measure_tasks import Passes
from explore.measure.reference_file import stored_reference
from explore.options.options import PeerName
from explore.peers import clblast_peer, peers
from explore.peers.convolutions import convolutions
from explore.peers.peers import KNOWN, Duel, duel, one_pass
from explore.peers.rival import Timed
from explore.peers.torch_layer import Manner, manners
from explore.peers.torch_memory import GIVEN_BACK, PAGES, PEAK_RESET, scratch_bytes
from explore.peers.torch_peer import recognised
from explore.results.pace import Reading, peers_at_pace
from explore.results.records import Failed, Peer
from ir.parse import parse, parse_file

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = {"C": 4, "W": 12, "H": 12}
SIZES = {**SMALL, "C": 8}  # so that four groups have two channels each


def found(program_file: str, sizes: dict[str, int], tmp_path: Path) -> str:
    text = (EXAMPLES / program_file).read_text()
    where = text.rpartition("where")[2]
    known = {name: n for name, n in sizes.items() if f"{name} =" in where}
    program = parse_file(EXAMPLES / program_file, known)
    layer = recognised(program, 0, stored_reference(program, 0, tmp_path))
    return layer.words if layer else "nothing"


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("quickstart.lift", "conv2d stride 1 padding 1 + relu"),
        ("conv2d.lift", "conv2d stride 2 padding 1"),
        ("dilated.lift", "padding 2 dilation 2"),
        ("conv1x1.lift", "linear"),
        ("maxpool.lift", "max pooling 3×3 stride 2 padding 0"),
        ("avgpool.lift", "average pooling 2×2 stride 2 padding 0"),
        ("conv1d.lift", "conv1d stride 1 padding 2, given channels last"),
        ("conv3d.lift", "conv3d stride 1 padding 1"),
        ("depthwise.lift", "conv2d stride 1 padding 1 depthwise"),
        ("grouped.lift", "conv2d stride 1 padding 1 groups 4"),
        ("batched.lift", "conv2d stride 1 padding 1 + relu"),
        ("matmul.lift", "linear"),
        ("blur.lift", "nothing"),
        ("softmax.lift", "nothing"),
    ],
)
def test_a_layer_is_recognised_by_what_it_computes(file: str, words: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    assert words in found(file, SIZES, tmp_path)


@pytest.mark.parametrize(("behind", "backwards"), [(0, False), (1, False), (0, True)])
def test_a_transposed_convolution_is_recognised(
    behind: int, backwards: bool, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    taps = "reorder(i -> 2 - i, kernel)" if backwards else "kernel"
    program = parse(
        f"""grown(const weights : [[[float]C]3]M, const biases : [float]M, signal : [[float]C]N) =
          let nothing = generate(C, i -> 0.0)
          let apart = join(map(x -> pad(0, 1, nothing, generate(1, i -> x)), signal))
          map(window -> map((kernel, bias) ->
              relu(bias + dot(flatten(window), flatten({taps}))), zip(weights, biases)),
            slide(3, 1, pad(1, {behind}, nothing, apart)))
        where C = 4, N = 9, M = 5"""
    )
    layer = recognised(program, 0, stored_reference(program, 0, tmp_path))
    assert layer is not None
    assert layer.words.startswith("transposed conv1d stride 2 padding 1 + relu")
    assert layer.geometry is not None
    assert layer.geometry.behind == behind


def test_ways_that_are_not_exact_stand_beside_those_that_are() -> None:
    peers = (Peer("a", 2.0), Peer("a, fused", 1.5), Peer("a, tf32", 0.5, precision="tf32"))
    best = Duel("a", peers, ()).best
    assert best is not None
    assert best.name == "a, fused"
    assert Duel("a", peers[2:], ()).best is None


def test_the_manners_of_a_layer_are_named_and_exact_ones_come_first(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    program = parse_file(EXAMPLES / "quickstart.lift", SMALL)
    layer = recognised(program, 0, stored_reference(program, 0, tmp_path))
    assert layer is not None
    names = [manner.name for manner in manners(layer, gpu=True)]
    assert names[:4] == [
        *("channels first", "channels last", "channels first, fused", "channels last, fused")
    ]
    assert {"channels last, fused, tf32", "channels last, half"} <= set(names[4:])
    pool = parse_file(EXAMPLES / "maxpool.lift", SMALL)
    pooled = recognised(pool, 0, stored_reference(pool, 0, tmp_path))
    assert pooled is not None
    assert [m.name for m in manners(pooled, gpu=True)] == ["channels first", "channels last"]


@pytest.mark.parametrize(
    "file", ["quickstart.lift", "fully_connected.lift", "depthwise.lift", "grouped.lift"]
)
def test_every_manner_that_is_offered_on_a_cpu_is_right(
    file: str, device: Device, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    if device.kind == "gpu":
        pytest.skip("the device is a GPU")
    sizes = {"M": 8, "N": 24} if file == "fully_connected.lift" else SMALL
    program = parse_file(EXAMPLES / file, sizes)
    rival = KNOWN["torch"](program, 0, stored_reference(program, 0, tmp_path), device)
    assert any("fused" in name for name in rival.ways)
    assert "without" not in rival.version, rival.version


def test_a_convolution_that_flips_its_kernel_is_no_peer(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    program = parse(
        """flipped(const weights : [[[[float]C]K]K]M, image : [[[float]C]W]H) =
          map2d(window -> map(kernel -> dot(flatten(window), reorder(i -> 35 - i, flatten(kernel))),
            weights), slide2d(K, 1, image))
        where C = 4, W = 8, H = 8, K = 3, M = 4"""
    )
    assert recognised(program, 0, stored_reference(program, 0, tmp_path)) is None


@pytest.mark.parametrize(
    ("peer", "package", "ways"),
    [
        (
            "torch",
            "torch",
            {
                "channels first",
                "channels last",
                "channels first, fused",
                "channels last, fused",
            },
        ),
        ("tinygrad", "tinygrad", {"no search"}),
    ],
)
def test_a_peer_is_timed_in_each_of_its_ways(
    peer: PeerName, package: str, ways: set[str], device: Device, tmp_path: Path
) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    program = parse_file(EXAMPLES / "quickstart.lift", SMALL)
    rival = KNOWN[peer](program, 0, stored_reference(program, 0, tmp_path), device)
    passed = one_pass(rival, 0)
    assert isinstance(passed, Timed), passed
    exact = [name for name in passed.ns if passed.precision[name] == "float"]
    assert set(exact) == ways
    assert {passed.bytes[name] for name in exact} == {
        4 * (2 * 12 * 12 * 4 + 12 * 12 * 28 + 32 * 36 + 32)
    }


@pytest.mark.parametrize(
    ("paces", "usual", "passes", "pace"),
    [
        ((5.0,) * 5, None, 5, 5.0),
        ((8.0, 5.0, 8.0, 5.1, 5.0, 5.0, 5.2, 8.0), None, 7, 5.0),  # slow minutes do not count
        ((8.0,) * 15, 5.0, 15, 8.0),  # there were no others
        ((8.0,) * 15, None, 5, 8.0),  # and if nothing else is known, they are not slow
    ],
)
def test_a_duel_goes_on_until_the_machine_was_left_alone(
    paces: tuple[float, ...],
    usual: float | None,
    passes: int,
    pace: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Peer and variant take 100 and 50 times what the yardstick takes, which comes from `paces`."""
    begun: list[int] = []

    class TimedPeer:
        def __enter__(self) -> "TimedPeer":
            return self

        def __exit__(self, *_: object) -> None: ...

        def submit(self, number: int) -> None:
            begun.append(number)

        def results(self) -> list[Any]:
            timed = Timed("conv", {"way": 100 * paces[begun[-1]]}, {"way": 64}, "1")
            return [SimpleNamespace(result=timed)]

    monkeypatch.setattr(peers, "Pool", lambda *_, **__: TimedPeer())

    def ours(*_: object) -> Passes:
        now = paces[begun[-1]]
        return Passes(((Reading(50 * now, now),),), ((50 * now,),), now)

    monkeypatch.setattr(peers, "_ours", ours)
    program, nothing = parse("p(x : [float]4) = x"), cast(Any, None)
    found = duel("torch", program, 0, tmp_path, nothing, nothing, [nothing], usual)
    (point,) = found.peers
    assert len(begun) == passes
    assert (point.time_ns, point.ours_ns) == pytest.approx((100 * pace, 50 * pace), rel=0.03)
    slow, as_usual = peers_at_pace([point], pace / 2)[0], peers_at_pace([point], None)[0]
    assert as_usual == point
    assert (slow.time_ns, slow.ours_ns) == (point.time_ns / 2, (point.ours_ns or 0) / 2)


def test_kernels_are_not_taken_for_an_image_far_smaller_than_they_are() -> None:
    inputs = {"weights": np.zeros((32, 3, 3)), "image": np.zeros((112, 112, 32))}
    found = [*convolutions(inputs, (112, 112, 32))]
    assert any("depthwise" in layer.words for layer in found)
    assert all(layer.x.size == inputs["image"].size for layer in found)


def test_growth_of_a_process_is_what_it_allocates() -> None:
    if not os.access(PEAK_RESET, os.W_OK):
        pytest.skip("this system does not say by how much a process grows")
    wanted = 20 << 20
    code = (
        "import numpy; from explore.peers.torch_memory import grows_by\n"
        f"print(grows_by(lambda: numpy.ones({wanted}, numpy.uint8)), grows_by(lambda: None))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=os.environ | GIVEN_BACK, stdout=subprocess.PIPE, check=True)
    grown, idle = map(int, done.stdout.split())
    assert wanted <= grown < wanted + (1 << 20)
    assert idle < PAGES


def test_scratch_of_a_layer_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    if not os.access(PEAK_RESET, os.W_OK):
        pytest.skip("this system does not say by how much a process grows")
    program = parse_file(EXAMPLES / "vgg.lift", {"C": 64, "W": 14, "M": 64})
    layer = recognised(program, 0, stored_reference(program, 0, tmp_path))
    assert layer is not None
    found = scratch_bytes(layer, (Manner("channels last"), Manner("channels last", True)), 1)
    assert set(found) == {"channels last", "channels last, fused"}
    assert all(0 <= size < 8 << 20 for size in found.values())


@pytest.mark.parametrize("peer", sorted(KNOWN))
def test_a_peer_that_is_not_installed_says_how_to_install_it(
    peer: PeerName, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "tinygrad", None)
    monkeypatch.setattr(clblast_peer, "LIBRARY", "libnowhere.so")
    program = parse_file(EXAMPLES / "quickstart.lift", SMALL)
    rival = KNOWN[peer](program, 0, stored_reference(program, 0, tmp_path), device)
    outcome = one_pass(rival, 0)
    assert isinstance(outcome, Failed)
    assert "install" in outcome.reason


def test_a_comparison_is_made_or_refused_with_a_reason(
    device: Device,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "run"
    sizes = [f"--set={name}={n}" for name, n in SMALL.items()]
    given = [str(EXAMPLES / "quickstart.lift"), *sizes, "--families", "naive", "--variants", "1"]
    assert main([*given, "--out", str(out), "--device", str(device.index)]) == 0
    capsys.readouterr()
    status = main(["compare", str(out), "--against", "torch", "--json"])
    (result,) = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (result["ratio"] is None) == ("no peer applies" in result["note"]) == bool(status)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["compare", str(out), "--against", "torch"]) == 1  # nothing was compared
    assert "no peer applies" in capsys.readouterr().out
    assert main(["compare", str(out), "--against", "nonsense"]) == 1
