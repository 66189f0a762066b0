"""The fixture of rooms whose tests ask what kernels mean, not how fast they are.

Compilers take most of their time to make kernels fast. The other rooms test the kernels that users
get.
"""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def quick_builds() -> Iterator[None]:
    """Kernels are built as they are written, by the processes that tests start too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYOPENCL_BUILD_OPTIONS", "-cl-opt-disable")
        yield
