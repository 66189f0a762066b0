"""Tests of functions that several processes carry out at the same time."""

import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest

from explore.workers.at_once import at_once

ROOT = Path(__file__).resolve().parents[2]


def nap(seconds: float) -> int:
    """Sleep, after printing for how long. Returns 3, or 7 if interrupted, or 0 if there were no
    seconds to sleep."""
    try:
        print(f"napping {seconds}", flush=True)
        time.sleep(seconds)
    except KeyboardInterrupt:
        print("stopped", end="", flush=True)
        return 7
    return 3 if seconds else 0


def test_each_process_speaks_under_its_number_and_its_status_is_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert at_once(nap, [0.0, 0.01]) == [0, 3]
    assert sorted(capsys.readouterr().out.split("\n")) == [
        "",
        "[1] napping 0.0",
        "[2] napping 0.01",
    ]


def test_an_interruption_reaches_every_process_once() -> None:
    code = "from tests.explore import test_at_once as t; print(t.at_once(t.nap, [60.0, 60.0]))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as running:
        said = list(islice(running.stdout or (), 2))
        assert sorted(said) == ["[1] napping 60.0\n", "[2] napping 60.0\n"]
        running.send_signal(signal.SIGINT)
        rest = running.communicate(timeout=60)[0]
    assert sorted(rest.splitlines()) == ["[1] stopped", "[2] stopped", "[7, 7]"]
