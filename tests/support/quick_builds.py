"""A fixture that switches the optimisation of OpenCL compilers off, for folders whose tests ask
what kernels compute and not how fast. Optimisation takes compilers most of their time. The other
folders test the kernels as users get them."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def quick_builds() -> Iterator[None]:
    """A fixture: in all tests of a folder, and in the processes that they start, kernels are built
    without optimisation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYOPENCL_BUILD_OPTIONS", "-cl-opt-disable")
        yield
