"""The memory that PyTorch takes on a CPU beside a layer's tensors: scratch, and copies in other
layouts.

oneDNN allocates them itself, so the system is asked (Linux): by how much the memory of a process
that does nothing else grows during a run, at its peak (`VmHWM`, reset by `clear_refs`). Its malloc
gives back at once what is freed, so nothing hides in memory that the process had before.
"""

# key: x input, w weights, b biases

import gc
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from explore.peers.layers import Layer
from explore.peers.torch_layer import Manner, prepared

GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
PAGES = 1 << 18  # bytes by which two measurements of one run may differ
WARMUP, RUNS, LIMIT = 2, 3, 60.0  # runs, runs, seconds
STATUS, PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def scratch_bytes(layer: Layer, ways: Iterable[Manner], threads: int) -> dict[str, int]:
    """The bytes that each way, with so many threads, allocates beside operands and output, by its
    name; empty if this system does not tell."""
    if not os.access(PEAK_RESET, os.W_OK):
        return {}
    root = str(Path(__file__).resolve().parent.parent.parent)
    start = f"import sys; sys.path.insert(0, {root!r}); from explore.peers.torch_memory import tell"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", start + "; tell()"],
            input=pickle.dumps((layer, tuple(ways), threads)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | GIVEN_BACK,
            timeout=LIMIT,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        return {}
    return {name: int(n) for name, n in json.loads(done.stdout).items()}


def tell() -> None:
    """Read a layer on the standard input of this process, and write the bytes of each way."""
    import torch

    layer, ways, threads = pickle.load(sys.stdin.buffer)
    torch.set_num_threads(threads)
    found = dict[str, int]()
    with torch.inference_mode():
        for manner in ways:
            x, run = prepared(layer, manner, "cpu")
            work = partial(run, x)
            y = work()
            made = int(y.numel() * y.element_size())
            del y
            grown = [grows_by(work) for _ in range(WARMUP + RUNS)]
            found[manner.name] = beside(sorted(grown[WARMUP:])[RUNS // 2], made)
    print(json.dumps(found))


def beside(grown: int, made: int) -> int:
    """The bytes that a run takes beside its result of `made` bytes, if the process grew by `grown`
    bytes; 0 if they are within the error of measurement."""
    return grown - made if grown - made > PAGES else 0


def grows_by(work: Callable[[], object]) -> int:
    """The bytes by which this process grows at most during a call."""
    gc.collect()
    PEAK_RESET.write_text("5")
    before = _bytes("VmRSS")
    result = work()
    peak = _bytes("VmHWM")
    del result
    return peak - before


def _bytes(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024
