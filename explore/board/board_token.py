"""The token: a secret that a board and the runs that may use it share."""

import os
from argparse import ArgumentParser
from pathlib import Path

from ir.errors import UserError

VARIABLE = "CONVLIFT_TOKEN"
LEAST = 16  # characters of a token


def add_token(parser: ArgumentParser) -> None:
    """Add to a parser the option that names the file of the token."""
    parser.add_argument(
        "--token",
        type=Path,
        metavar="FILE",
        help=f"the file with the token of a board (default: what {VARIABLE} holds)",
    )


def token_of(file: Path | None) -> bytes | None:
    """The token in a file, or, without a file, in the environment; None if there is none."""
    if file is None:
        text = os.environ.get(VARIABLE, "")
    else:
        try:
            text = file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise UserError(f"cannot read {file}: {error.strerror}") from None
    if not text and file is None:
        return None
    if len(text) < LEAST:
        raise UserError(f"expected a token of at least {LEAST} characters, found {len(text)}")
    return text.encode()
