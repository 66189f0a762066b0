"""Benchmarks: what was measured, by commands that anybody can run again."""

import os

from explore.record_book.book_file import VARIABLE

os.environ.setdefault(VARIABLE, "")  # what is compared must not begin from what somebody measured
