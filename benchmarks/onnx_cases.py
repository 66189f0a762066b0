"""The cases of `onnx.backend.test` on a device: how many pass, how many are refused with a message,
and how many are wrong (each of which is a fault of ours).

    python -m benchmarks.onnx_cases [PART-OF-A-NAME …] [--of Conv,Gemm] [--all]

Cases of single nodes are run as they are, and with all inputs but the first as weights, as
exporters have sizes, axes and limits; then those of larger models."""

import argparse
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np

from codegen.runtime.session import Session, open_device
from explore.network_choice.layer_options import estimated_options
from explore.network_graph.network_layers import layers_of
from explore.networks.network import Network
from explore.onnx_model.read_model import read_model
from explore.operators.all_operators import OPERATORS
from explore.run.target import Target, target_of
from ir.errors import Unsupported, UserError
from tests.support.onnx_cases import FOLDERS, Case, folder_cases, node_cases, with_constants

NODES, CONSTANTS = "single nodes", "single nodes, weights"


def cases() -> Iterator[tuple[str, Case]]:
    """All cases, each with the name of its group."""
    for case in node_cases():
        yield NODES, case
        if (other := with_constants(case)) is not None:
            yield CONSTANTS, other
    for folder in FOLDERS:
        for case in folder_cases(folder):
            yield folder, case


def outcome(case: Case, target: Target, session: Session) -> tuple[str, str]:
    """The outcome of a case on a device: `passed`, `refused` or `wrong`, and the reason if it is
    not `passed`, else an empty text."""
    try:
        layers = layers_of(read_model(case.model))
        chosen = [estimated_options(p, target, session)[0] for p in layers.programs]
        net = Network.of(layers, [chosen[layer.program] for layer in layers.layers], session)
    except (Unsupported, UserError) as error:
        return "refused", str(error).splitlines()[0]
    for given, expected in case.data_sets:
        made = net(*(np.asarray(a) for a in given[: len(layers.inputs)]))
        made = made if isinstance(made, tuple) else (made,)
        for out, want in zip(made, expected, strict=True):
            if out.shape != want.shape or out.dtype != want.dtype:
                return "wrong", f"{out.dtype}{out.shape}, expected {want.dtype}{want.shape}"
            if not np.allclose(out, want, case.rtol, max(case.atol, 1e-5), equal_nan=True):
                return "wrong", f"off by {np.abs(out - want).max():g}"
    return "passed", ""


def main() -> None:
    """Run the cases that the arguments select; print those that did not pass, and the counts by
    group and by operators."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of cases")
    parser.add_argument("--of", default="", help="only single nodes of these operators")
    parser.add_argument("--all", action="store_true", help="operators too that nobody covers")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    wanted = set(filter(None, given.of.split(","))) or {*OPERATORS, "Split"}
    target = target_of(given.device, None, ())
    assert target.device is not None
    session = open_device(target.device)
    counts: Counter[tuple[str, str, str]] = Counter()
    for group, case in cases():
        named = not given.names or any(part in case.name for part in given.names)
        covered = given.all or case.operators <= wanted or (group in FOLDERS and not given.of)
        if not named or not covered:
            continue
        begun = time.process_time()
        try:
            found, why = outcome(case, target, session)
        except Exception as error:
            found, why = "wrong", f"{type(error).__name__}: {error}".splitlines()[0]
        counts[group, found, "+".join(sorted(case.operators))] += 1
        if found != "passed":
            took = f"{time.process_time() - begun:.1f} s"
            print(f"{found:8} {group}: {case.name} ({took}): {why}", flush=True)
    for group in (NODES, CONSTANTS, *FOLDERS):
        for result in ("passed", "refused", "wrong"):
            of_result = {op: n for (g, r, op), n in counts.items() if (g, r) == (group, result)}
            told = ", ".join(f"{op} {n}" for op, n in sorted(of_result.items()))
            print(f"{group}, {result}: {sum(of_result.values())} ({told})")


if __name__ == "__main__":
    main()
