"""The fixture of tests of rewriting that run kernels."""

import pytest

from codegen.plan import Plan
from codegen.runtime.built_program import Program
from codegen.runtime.session import Device, Session, open_device


class Unoptimised(Session):
    """A session that builds kernels as they are written: these tests ask what a text means, and a
    compiler takes most of its time to make it fast.

    Other rooms, and the runs of `explore` here, test the kernels that users get.
    """

    def build(
        self, plan: Plan, options: str = "-cl-opt-disable", checking: bool = False
    ) -> Program:
        return super().build(plan, options, checking)


@pytest.fixture(scope="session")
def session(device: Device) -> Session:
    return Unoptimised(device, open_device(device).handle, cached=True)
