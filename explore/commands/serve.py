"""The command `explore serve`: a board measures for a run on another machine.

It imports nothing but what a board has: Python, NumPy and pyopencl.
"""

import secrets
from collections.abc import Sequence

from explore.arguments.command_parsers import parser_of
from explore.board.board_token import VARIABLE, add_token, token_of
from explore.board.serve import PORT, serve
from ir.errors import UserError


def _port(text: str) -> int:
    """The number of a port that a text means; ValueError if there is none of this number."""
    if not 0 <= int(text) < 1 << 16:
        raise ValueError
    return int(text)


def main(argv: Sequence[str]) -> int:
    """Serve until the command is ended; returns the exit status."""
    parser = parser_of("serve")
    parser.add_argument("--device", metavar="D", help="a device: number, part of a name, gpu, cpu")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="HOST", help="listen there (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=_port, default=PORT, metavar="N", help=f"and there (default: {PORT})"
    )
    add_token(parser)
    given = parser.parse_args(argv)

    from codegen.runtime.devices import choose

    device = choose(given.device)
    token = token_of(given.token)
    if token is None:
        token = secrets.token_urlsafe(24).encode()
        print(f"{VARIABLE}={token.decode()}", flush=True)
    try:
        serve(device, given.host, given.port, token)
    except OSError as error:
        raise UserError(f"cannot listen on {given.host}:{given.port}: {error}") from error
    except KeyboardInterrupt:
        return 130
    return 0
