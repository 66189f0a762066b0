"""The code that compilers made of kernels in earlier runs, or their refusals, kept in the user's
record book by the kernel's text, its launch and the compiler."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from explore.options.stored_fields import Damaged, loaded
from explore.record_book.record_book import RecordBook
from explore.results.kernel_code import Refusal, code_from, code_json
from explore.toolchain.compile_kernel import Compiled, CompileKernel
from ir.errors import UserError

KEPT = 10  # the form of what is kept, and of how work is counted


def key_of(task: CompileKernel) -> str:
    """The key of a task: the sha256 of all that its result depends on."""
    parts = [
        *(task.text, task.global_size, task.group, task.profile, task.toolchain.identity, KEPT)
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def kept(book: RecordBook | None, task: CompileKernel) -> Compiled | None:
    """The result of a task that the record book has kept; None if it has none, or none that can be
    read."""
    text = None if book is None else book.code(key_of(task))
    if text is None:
        return None
    try:
        fields = loaded(text, "code")
        refused = "refused" in fields.values
        return Refusal(fields.text("refused")) if refused else code_from(fields)
    except (Damaged, ValueError):
        return None


def keep(book: RecordBook | None, task: CompileKernel, found: Compiled) -> None:
    """Keep the result `found` of a task in the record book, if there is one that can be written.
    What is no answer of the compiler, such as a fault of the toolchain, is not of this type."""
    if book is None or not book.writable:
        return
    said: Mapping[str, Any] = (
        {"refused": found.words} if isinstance(found, Refusal) else code_json(found)
    )
    try:
        book.keep_code(key_of(task), json.dumps(said, allow_nan=False))
    except UserError:
        return
