"""Tests of boards: they need only Python, NumPy and pyopencl, measure the variants that a run sends
them, and refuse malformed messages and callers without the token."""

import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from multiprocessing import Pipe
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from codegen.runtime.devices import Device
from explore.board import admission
from explore.board.board import Board
from explore.board.messages import (
    Array,
    Message,
    answered,
    asked,
    device_from,
    device_json,
    receive,
    result_from,
    send,
    task_from,
)
from explore.board.serve import Given, given_from, given_message, serve
from explore.measure.measure_tasks import Again, Measure, Passes
from explore.measure.reference import Expected, Reference
from explore.options.options import Options
from explore.options.stored_fields import Damaged
from explore.results.pace import Reading
from explore.results.records import Failed, Measured
from explore.run.run import Run, start
from explore.run.source import Source
from explore.run.target import target_of
from ir.errors import UserError
from tests.support.sample_runs import plan, sample_run

ROOT = Path(__file__).resolve().parents[2]
TOKEN = b"0123456789abcdef"
TEXT = """tiny(const weights : [[float]K]M, xs : [float]N) =
  map(window -> map(kernel -> dot(window, kernel), weights), slide(K, 1, xs))
where K = 4, M = 8, N = 19
"""
BARE = """
import importlib.util, sys
absent = {"lark", "ml_dtypes", "matplotlib", "plotly", "rich", "sklearn", "z3", "scipy", "onnx",
          "distributed"}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in absent:
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in absent else found(name, *more)
from explore.__main__ import main
main(["serve", "--port", "0", "--device", sys.argv[1], "--token", sys.argv[2]])
"""


@pytest.fixture
def board(device: Device, tmp_path: Path) -> Iterator[Board]:
    """A board, served by another process of this machine, which can import no packages but NumPy
    and pyopencl."""
    (tmp_path / "token").write_bytes(TOKEN)
    command = [sys.executable, "-c", BARE, str(device.index), str(tmp_path / "token")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        host, _, port = line.split()[-1].rpartition(":")
        assert host == "127.0.0.1"
        yield Board(host, int(port), TOKEN, print)
        server.kill()


def test_a_board_measures_what_a_run_elsewhere_gives_it(
    board: Board, device: Device, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="refuses the token"):
        Board(board.host, board.port, b"something else is said", print).device()
    there = board.device()
    assert (there.name, there.driver, there.half) == (device.name, device.driver, device.half)
    options = Options(variants=3, families=("registers",), strategy="random", jobs=1)
    target = target_of(there, None, ())
    start(Source(TEXT, "<test>"), options, target, tmp_path / "run", False, board)
    records = [r for r in Run(tmp_path / "run").records if r.round == 0]
    assert len(records) == 3
    assert all(isinstance(r.outcome, Measured) and (r.error or 0.0) < 1e-6 for r in records)


def test_a_caller_that_says_nothing_does_not_keep_others_from_the_board(
    device: Device, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        port = found.getsockname()[1]
    more = {"rounds": 1, "patience": 3.0}
    server = Thread(target=serve, args=(device, "127.0.0.1", port, TOKEN), kwargs=more)
    server.start()
    with closing(reached(port)), closing(reached(port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert told_by(Board("127.0.0.1", port, TOKEN, print)).name == device.name
    server.join(60)
    assert capfd.readouterr().out.count("was not admitted") >= 2


def told_by(board: Board) -> Device:
    """The device of a board, asked again where it does not listen yet, or a busy machine is too
    slow to be admitted."""
    for _ in range(100):
        with suppress(UserError):
            return board.device()
        time.sleep(0.1)
    return board.device()


def reached(port: int) -> socket.socket:
    """A connection to this port of this machine, where a server is about to listen."""
    for _ in range(600):
        with suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(0.1)
    raise AssertionError("nobody listens")


def test_where_nobody_answers_as_a_board_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "LIMIT", 0.2)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        board = Board("127.0.0.1", silent.getsockname()[1], TOKEN, print)
        with pytest.raises(UserError, match="no board answers"):
            board.device()


# ---- messages


def sent(message: Message) -> Message:
    here, there = Pipe()
    send(here, message)
    return receive(there)


def test_tasks_and_results_are_the_same_after_their_messages() -> None:
    for task in (
        Measure(3, plan("kernel void conv() {}"), 5.5, None, 2.0, 0.25),
        Again((plan("a"), plan("b", ("pad",))), 4),
        Again((plan("a"),), limit_s=2.5),
    ):
        assert task_from(sent(asked(task, 9.0))) == (task, 9.0)
    passes = Passes(((Reading(1.0, 2.0), Reading(3.0, 4.0)), ()), ((0.5,), ()), 7.0)
    for result in (passes, *(r.outcome for r in sample_run(40))):
        assert isinstance(result, Passes | Measured | Failed)
        assert result_from(sent(answered(result))) == result


def test_what_a_run_gives_is_the_same_after_its_message(device: Device) -> None:
    small = np.array([[1], [2]], dtype=np.int8)
    inputs: dict[str, Array] = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "w": small}
    exact = Expected(np.ones(4), 3.5, 0.5), Expected(np.zeros((2, 1)), 1.0, 0.0)
    right = Reference((np.arange(4.0), np.full((2, 1), 5.0)), exact)
    found = given_from(sent(given_message(Given(inputs, inputs, ("x",), right, 1e-4))))
    assert found.varying == ("x",)
    assert all(np.array_equal(found.inputs[n], inputs[n]) for n in inputs)
    assert found.inputs["w"].dtype == np.int8
    for made, meant in zip(found.reference.outputs, right.outputs, strict=True):
        assert np.array_equal(made, meant)
    assert found.reference.exact is not None
    assert [(e.scale, e.rounding) for e in found.reference.exact] == [(3.5, 0.5), (1.0, 0.0)]
    assert np.array_equal(found.reference.exact[1].output, np.zeros((2, 1)))
    told = sent(Message("hello", {"device": device_json(device)})).checked.fields("device")
    assert device_from(told).name == device.name


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"abc",
        struct.pack(">I", 1 << 31) + b"{}",
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 40) + b'{"kind": "given", "fields": {}}',
        struct.pack(">I", 45) + b'{"kind": "given", "fields": 3, "arrays": []}  ',
    ],
)
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    here, there = Pipe()
    here.send_bytes(data)
    with pytest.raises(Damaged):
        receive(there)


@pytest.mark.parametrize(
    "about", [["x", "float32", [1 << 39]], ["x", "object", [1]], ["x", "float32", [-1]], [1], [],
     ["x", "float32", [0, 1 << 39, 1 << 39]], ["x", "float32", [1] * 40]],
)  # fmt: skip
def test_arrays_that_are_not_what_is_said_of_them_are_refused(about: list[object]) -> None:
    here, there = Pipe()
    arrays = [about] if about else []
    head = json.dumps({"kind": "given", "fields": {}, "arrays": arrays}).encode()
    here.send_bytes(struct.pack(">I", len(head)) + head + b"1234")
    with pytest.raises(Damaged):
        receive(there)


def test_what_asks_for_nothing_that_can_be_measured_is_refused() -> None:
    for fields in ({"limit": 1e9}, {"limit": 1.0, "plan": {"kernels": "rm -rf"}}, {}):
        with pytest.raises(Damaged):
            task_from(Message("measure", fields))
    with pytest.raises(Damaged):
        given_from(Message("given", {"varying": ["x"], "max_error": 1e-4}))
    right = {"right.0": np.zeros(1, np.float32)}
    with pytest.raises(Damaged, match="max_error: expected a number"):
        given_from(Message("given", {"varying": [], "exact": [], "max_error": 10**400}, right))
