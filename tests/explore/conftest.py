"""The fixture of all tests in this folder: kernels are built without optimisation."""

from tests.support.quick_builds import quick_builds

__all__ = ["quick_builds"]
