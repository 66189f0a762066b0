"""Tests that the process which asks for a run does not load what its workers load."""

import json
import subprocess
import sys

OF_WORKERS = ("codegen.compile", "codegen.demand_proofs", "codegen.runtime.session", "pyopencl")


def loaded_by(statement: str) -> set[str]:
    """The names of the modules that a new process has loaded after a statement."""
    code = f"{statement}\nimport json, sys; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_a_run_is_asked_for_without_the_compiler_and_without_what_opens_devices() -> None:
    asking = loaded_by("import explore.commands.command_table, explore.run.run")
    assert "explore.run.exploration" in asking
    assert asking.isdisjoint(OF_WORKERS)
    assert loaded_by("from explore.building.build_worker import load; load()") >= {*OF_WORKERS}
