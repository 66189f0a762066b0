"""Benchmarks: commands by which anybody can repeat the measurements that the documentation
quotes."""

import os

from explore.record_book.book_file import VARIABLE

os.environ.setdefault(VARIABLE, "")  # what is compared must not begin from what somebody measured
