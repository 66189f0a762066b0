"""The table of a run's variants that `explore show RUN` prints, sorted and filtered as asked."""

import argparse
from collections.abc import Callable, Sequence

from explore.report.table import front_lines
from explore.results.record_json import to_line
from explore.results.records import Bounds, Failed, Measured, Predicted, Record, latest
from ir.command import usage
from ir.errors import UserError
from ir.text.counted import counted
from ir.text.suggest import no_such

MOST = 40  # rows that are shown, if nobody says how many
KINDS = {"measured": Measured, "predicted": Predicted, "failed": Failed}
KEYS: dict[str, Callable[[Record], float | str | None]] = {
    "time": lambda r: r.time_ns,
    "memory": lambda r: r.memory_bytes,
    "workspace": lambda r: r.workspace_bytes,
    "error": lambda r: r.error,
    "id": lambda r: r.variant.id,
    "form": lambda r: r.variant.form,
}


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the options that sort and filter the table of variants."""
    table = parser.add_argument_group("the table of all variants, where no ID is given")
    table.add_argument("--sort", choices=KEYS, default="time", help="the column to sort by")
    table.add_argument("--family", metavar="NAME", help="only variants of this family")
    table.add_argument("--form", metavar="WORD", help="only forms that have this word")
    table.add_argument("--status", choices=KINDS, help="only variants that came to this")
    table.add_argument(
        "--where",
        type=usage(_equation),
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="only variants with this value of a parameter; may be repeated",
    )
    table.add_argument(
        "--limit", type=usage(_rows), default=MOST, metavar="N", help="show so many rows; 0: all"
    )


def shown(records: Sequence[Record], given: argparse.Namespace) -> list[Record]:
    """The variants that the options ask for, each by its last record, in the order that the options
    ask for."""
    every = latest(records)
    families = sorted({r.variant.family for r in every})
    if given.family is not None and given.family not in families:
        raise no_such("family", given.family, families, of="this run")
    return sorted((r for r in every if _is_asked(r, given)), key=lambda r: _place(r, given.sort))


def table_lines(
    found: Sequence[Record], given: argparse.Namespace, bounds: Bounds, width: int | None
) -> list[str]:
    """The lines of the table of the variants in `found`, as many as are asked for, and a line that
    tells how many there are; no lines for no variants. `width` is the console's (None: no
    limit)."""
    rows = found[: given.limit or None]
    if not rows:
        return []
    lines = front_lines(rows, bounds, width)
    for r in rows:
        if isinstance(r.outcome, Failed):
            lines.append(f"{r.variant.id} failed to {r.outcome.stage}: {r.outcome.reason}")
    left = len(found) - len(rows)
    more = f", of which {len(rows)} are shown: `--limit 0` shows all" if left else ""
    return [*lines, f"{counted(len(found), 'variant')}{more}"]


def json_lines(found: Sequence[Record], given: argparse.Namespace) -> list[str]:
    """The variants of the records `found` as JSON, one object a line; all of them, unless fewer are
    asked for."""
    return [to_line(r) for r in (found if given.limit == MOST else found[: given.limit or None])]


def _is_asked(r: Record, given: argparse.Namespace) -> bool:
    parameters = dict(r.variant.parameters)
    return (
        given.family in (None, r.variant.family)
        and (given.form is None or given.form in r.variant.form.split())
        and (given.status is None or isinstance(r.outcome, KINDS[given.status]))
        and all(parameters.get(name) == value for name, value in given.where)
    )


def _place(r: Record, by: str) -> tuple[bool, float | str, str]:
    """The sort key of a variant for the column `by`; variants without a value come last."""
    value = KEYS[by](r)
    return value is None, 0.0 if value is None else value, r.variant.id


def _equation(text: str) -> tuple[str, int]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value.isdecimal():
        raise UserError(f"expected NAME=VALUE, such as v=16, found {text!r}")
    return name, int(value)


def _rows(text: str) -> int:
    if not text.isdecimal():
        raise UserError(f"expected a number of rows, found {text!r}")
    return int(text)
