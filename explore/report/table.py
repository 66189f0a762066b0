"""The front as text: one line for each point if the console is wide enough, else two."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from explore.options.units import show_bytes, show_time
from explore.results.code_totals import CodeTotals, code_totals
from explore.results.records import Bounds, Failed, Measured, Outcome, Predicted, Record

_GAP = 2  # spaces between columns

Row = Sequence[str]


def front_lines(
    points: Sequence[Record], bounds: Bounds | None = None, width: int | None = None
) -> list[str]:
    """The lines of a table of points: a heading, then each point, with the rates of the operations
    that `bounds` counts, and the known errors if there are any; `width` is the console's, None for
    no limit."""
    counted = _counted(bounds or Bounds())
    known = ["known"] if any(r.variant.known_error for r in points) else []
    names = ["id", "time", "±", *counted]
    code = [code_totals(r) for r in points]
    compiled = ["between", "private", "threads", "code"] if any(code) else []
    rows = [[*names, "memory", "workspace", "error", *known, *compiled]]
    rows += [
        [
            *(r.variant.id, *_numbers(r, counted.values())),
            *(known_words(r) for _ in known),
            *(_compiled(r, c) if compiled else ()),
        ]
        for r, c in zip(points, code, strict=True)
    ]
    carried_out = ["carried out"] if compiled else []
    made = [["kernels", "form", "parameters", *carried_out]]
    made += [
        [_kernels(r.outcome), _form(r), _parameters(r), *(done_words(c) for _ in carried_out)]
        for r, c in zip(points, code, strict=True)
    ]
    numbers = _aligned(rows, "l" + "r" * (len(rows[0]) - 1))
    words = _aligned(made, "rll" + "l" * len(carried_out))
    whole = [f"{a}{' ' * _GAP}{b}".rstrip() for a, b in zip(numbers, words, strict=True)]
    if width is None or max(map(len, whole)) <= width:
        return whole
    return list(_folded(numbers, made, width))


def _folded(numbers: Sequence[str], made: Sequence[Row], width: int) -> Iterator[str]:
    """The lines of a table that is wider than the console: each line of `numbers`, and below it the
    words of `made` for the same point (device time, form, parameters), wrapped at `width`."""
    for line, words in zip(numbers, made, strict=True):
        yield line.rstrip()
        yield from textwrap.wrap(
            "  ".join(words), max(20, width), initial_indent="  ", subsequent_indent="    "
        )


def _aligned(rows: Sequence[Row], sides: str) -> list[str]:
    """The rows as text, with columns as wide as their widest cell; `sides` has l or r for each
    column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (" " * _GAP).join(
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, sides, strict=True)
        )
        for row in rows
    ]


def _form(record: Record) -> str:
    return record.variant.form or ", ".join(record.variant.stored) or "–"


def _parameters(record: Record) -> str:
    return " ".join(f"{name}={value}" for name, value in record.variant.parameters) or "–"


def _counted(bounds: Bounds) -> Mapping[str, int]:
    """The number of the program's operations of each kind, by the heading of the kind's rate;
    without kinds of which it has none."""
    counts = {"GFLOP/s": bounds.flops, "int GOP/s": bounds.whole_operations}
    return {name: n for name, n in counts.items() if n}


def _numbers(record: Record, operations: Iterable[int]) -> list[str]:
    time_ns = record.time_ns
    rate = [f"{n / time_ns:.4g}" if time_ns else "–" for n in operations]
    error = "–" if record.error is None else f"{record.error:.1e}"
    memory, workspace = show_bytes(record.memory_bytes), show_bytes(record.workspace_bytes)
    return [show_time(time_ns), _spread(record), *rate, memory, workspace, error]


def known_words(record: Record) -> str:
    """The known error of a variant as text: what its laws lose beside the rounding of floats; a
    dash where they lose nothing, or that is not known."""
    known = record.variant.known_error
    return f"{known:.1e}" if known else "–"


def _compiled(record: Record, code: CodeTotals | None) -> list[str]:
    """The cells of a point's compiled code: the range of its predicted time, private memory, the
    share of a core's threads, and the bytes of its code; dashes if it was not compiled."""
    outcome = record.outcome
    if code is None or not isinstance(outcome, Predicted):
        return ["–"] * 4
    least, most = outcome.least_ns, outcome.most_ns
    between = f"{show_time(least)}–{show_time(most)}" if least and most else "–"
    private = show_bytes(code.private_bytes)
    return [between, private, f"{code.threads:.0%}", show_bytes(code.bytes)]


def done_words(code: CodeTotals | None) -> str:
    """What all work-items carry out by compiled code, in words: `1.2e+07 tuples, 3e+06 messages`; a
    dash if it is not known."""
    done = code.done if code else ()
    return ", ".join(f"{n:.3g} {name.replace('_', ' ')}" for name, n in done) or "–"


def _kernels(outcome: Outcome) -> str:
    """The text of the sum of the kernels' device times; a dash if these are not known."""
    return show_time(outcome.device_ns if isinstance(outcome, Measured) else None)


def _spread(record: Record) -> str:
    match record.outcome:
        case Measured(stopped_early=True):
            return "few runs"
        case Measured(spread=spread, noisy=noisy):
            return f"{spread:.1%} noisy" if noisy else f"{spread:.1%}"
        case Predicted(code=code) as predicted if code:
            return f"compiled, {predicted.spills} spilled" if predicted.spills else "compiled"
        case Predicted():
            return "predicted"
        case Failed():
            return "–"
