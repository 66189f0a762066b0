"""A page of HTML that runs no script and loads nothing from elsewhere."""

from html import escape
from pathlib import Path

from explore.files.whole_files import write_whole

POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6470; --line: #d5d9df; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --soft: #9aa4b1; --line: #313842; --page: #14171b; }
}
body { margin: 0 auto; max-width: 1300px; padding: 20px; color: var(--ink); background: var(--page);
  font: 14px/1.5 system-ui, sans-serif; }
table { border-collapse: collapse; } td, th { padding: 2px 10px; text-align: right; }
tr { border-bottom: 1px solid var(--line); }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: var(--soft); }
"""


def static_page(title: str, body: str, style: str) -> str:
    """The HTML of a page, with its title as a heading over the body; `style` is added to what all
    such pages have."""
    name = escape(title)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{name}</title><style>{STYLE}{style}</style></head><body>
<h1>{name}</h1>
{body}
</body></html>
"""


def write_page(file: Path, title: str, body: str, style: str) -> None:
    """Write the page that `static_page` makes of a title, a body and a style to a file, which
    appears whole or not at all."""
    write_whole(file, static_page(title, body, style))
