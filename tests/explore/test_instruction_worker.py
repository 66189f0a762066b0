"""Tests of the trial of instructions in a process of its own: on this machine, on a board, on a
cluster, and where several devices are explored, a device that hangs or dies in it is told."""

import os
import signal
import socket
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest

from codegen.instruction_trial import own_instructions
from codegen.runtime.devices import Device, devices
from explore.board.board import Board
from explore.board.serve import serve
from explore.cluster import cluster as cluster_file
from explore.cluster.cluster import joined
from explore.cluster.on_worker import PREFIX
from explore.commands.each_device import explored_on_each
from explore.commands.whose_hands import Workplace
from explore.measure import instruction_worker, roofline
from explore.options.options import Options
from explore.record_book.device_facts import LIMITS
from explore.report.runs_beside import runs_in
from explore.run.run import Run
from explore.run.source import Source
from explore.run.target import target_of
from explore.run.worker_pools import Here
from ir.errors import UserError
from tests.explore.test_board import TOKEN, told_by
from tests.explore.test_cluster import cluster_of

TEXT = "double(xs : [float]n) = map(x -> x + x, xs) where n = 24"
DEAD = "Dead Device"
ENOUGH = Event()  # a worker that hangs has hung for long enough


def die(device: Device) -> tuple[str, ...]:
    """The names of no instructions; the process ends itself if the device has the name `DEAD`."""
    if device.name == DEAD:
        os.kill(os.getpid(), signal.SIGSEGV)
    return ()


def hang(device: Device) -> tuple[str, ...]:
    """The names of no instructions, after a time that is far too long."""
    time.sleep(1000)
    return ()


def hang_on_a_worker(device: Device) -> tuple[str, ...]:
    """The names of no instructions, once `ENOUGH` is set."""
    ENOUGH.wait(60)
    return ()


def test_the_trial_in_a_process_of_its_own_finds_what_the_trial_here_finds(device: Device) -> None:
    assert Here().instructions(device) == own_instructions(device)


def test_a_board_whose_device_hangs_tells_it_and_serves_on(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instruction_worker, "own_instructions", hang)
    monkeypatch.setattr(instruction_worker, "LIMIT", 0.3)
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        port = found.getsockname()[1]
    server = Thread(target=serve, args=(device, "127.0.0.1", port, TOKEN, 3))
    server.start()
    board = Board("127.0.0.1", port, TOKEN, print)
    told_by(board)
    with pytest.raises(UserError, match=r"refuses: expected .* took longer than 0.3 s; restart"):
        board.instructions(device)
    assert board.device().name == device.name
    server.join(60)


def test_a_device_that_dies_is_told_and_left_out_and_the_others_are_explored(
    device: Device,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(instruction_worker, "own_instructions", die)
    monkeypatch.setattr(roofline, "measured", lambda device: dict.fromkeys(LIMITS))
    several = (replace(device, name=DEAD, kind="cpu"), replace(device, kind="cpu"))
    targets = [target_of(each, None, ()) for each in several]
    options = Options(variants=1, families=("naive",), jobs=1)
    place = Workplace(Here(), devices)
    assert explored_on_each(Source(TEXT, "<test>"), options, targets, tmp_path, False, place=place)
    (ran,) = runs_in(tmp_path)
    assert Run(ran).front
    assert Run(ran).environment.device == device.name
    said = capsys.readouterr().err
    assert f"expected {DEAD} ({device.platform}" in said
    assert "died with signal 11" in said


def test_a_worker_of_a_cluster_that_does_not_answer_is_named_with_its_device(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_file, "instructions_in_time", hang_on_a_worker)
    monkeypatch.setattr(cluster_file, "ASKED", 0.3)
    with (
        cluster_of(own={"resources": {f"{PREFIX}{device.index}": 1}}) as made,
        joined(made.scheduler_address, 1, print) as cluster,
    ):
        (found,) = cluster.kinds()
        try:
            with pytest.raises(UserError, match="instructions of its device") as told:
                cluster.instructions(found)
        finally:
            ENOUGH.set()
        assert made.workers["own"].address in told.value.message
        assert device.name in told.value.message
        with pytest.raises(UserError, match="no worker of the cluster owns"):
            cluster.limits(replace(found, name=DEAD))
