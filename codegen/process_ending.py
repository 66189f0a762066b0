"""The ending of a child process in words: a signal, an exit status, or lack of memory."""

import signal

# What C++ runtimes, Python and drivers say before they give up.
WANT = ("bad_alloc", "MemoryError", "out of memory", "Out of memory", "Cannot allocate memory")


FOR_MEMORY = "as happens when memory runs out"


def ending(status: int, last_words: str = "") -> str:
    """The words for an exit status as subprocess gives it, such as `with signal 11 (SIGSEGV)`.

    They say that memory ran out if the kernel ended the process for that, or `last_words` say so.
    """
    how = f"with exit status {status}" if status >= 0 else f"with {signal_named(-status)}"
    return f"{how}, {FOR_MEMORY}" if for_memory(status, last_words) else how


def for_memory(status: int, last_words: str = "") -> bool:
    """True if a process with this exit status, or these last words, most likely ended for lack of
    memory: nothing else sends SIGKILL."""
    return status == -signal.SIGKILL or (status != 0 and any(word in last_words for word in WANT))


def signal_named(number: int) -> str:
    """The words for a signal's number, such as `signal 11 (SIGSEGV)`."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"
