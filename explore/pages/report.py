"""A run as one HTML file that needs nothing else: no network, no server.

Everything in it travels compressed, in base64: the plotting library, what is drawn, and the details
of each variant. So text from the program never becomes markup here; the page sets it as text.
"""

import base64
import html
import json
import re
import zlib
from collections.abc import Sequence
from functools import cache

from explore.files.shipped_text import shipped_text
from explore.pages.report_data import Told
from explore.results.lost_forms import LostForm
from explore.results.records import Peer, Record
from explore.results.run_environment import Environment

PACKAGE = "explore.pages"
SCRIPTS = ("variants.js", "tiling.js", "live.js", "report.js")


def report(
    records: Sequence[Record],
    environment: Environment,
    peers: Sequence[Peer] = (),
    lost: Sequence[LostForm] = (),
    folder: str = "RUN",
) -> str:
    """The HTML text of the report of a run, with its peers and its lost forms; `folder` is the
    run's folder as the commands that the report shows name it."""
    return page(Told(records, environment, peers, lost, folder))


def page(told: Told, *, live: bool = False) -> str:
    """The HTML text that tells of a run. A `live` page fetches new data from the server that it
    came from."""
    values = {
        "title": html.escape(f"{told.environment.name} on {told.environment.where}"),
        "live": "true" if live else "false",
        "plotly": _plotly(),
        "run": _packed(as_json(told.drawn())),
        "details": _packed(as_json(told.details())),
        "script": "".join(shipped_text(PACKAGE, name) for name in SCRIPTS),
    }
    return re.sub(
        r"\{\{(\w+)\}\}", lambda hole: values[hole[1]], shipped_text(PACKAGE, "report.html")
    )


@cache
def _plotly() -> str:
    """The plotting library, compressed once per process."""
    from plotly.offline import get_plotlyjs  # here: slow to import

    return _packed(get_plotlyjs())


def as_json(data: object) -> str:
    """The JSON text of data; a ValueError if a number in it is infinite or no number."""
    return json.dumps(data, allow_nan=False)


def _packed(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()
