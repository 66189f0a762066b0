"""The fixtures of the tests in this folder."""

from tests.support.quick_builds import quick_builds

__all__ = ["quick_builds"]
