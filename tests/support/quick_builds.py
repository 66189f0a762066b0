"""A fixture that switches the optimisation of OpenCL compilers off, for folders and files of tests
that ask what kernels compute and not how fast; each imports it. Optimisation takes compilers most
of their time. The other tests are of kernels as users get them. Tests that explore do not import
it: the yardstick, which is timed between variants, would take thirty times as long."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_builds() -> Iterator[None]:
    """Build kernels without optimisation in all tests of a folder or file, and in the processes
    that they start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYOPENCL_BUILD_OPTIONS", "-cl-opt-disable")
        yield
