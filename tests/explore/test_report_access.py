"""Tests that a report is accessible: axe-core finds no fault in it, with light and dark colours, on
wide and narrow screens, on every tab; and a narrow screen cuts nothing off."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from explore.pages.report import report
from tests.support.browser import DRAWN, TURN, chromium, opened
from tests.support.sample_runs import ENVIRONMENT, PEERS, sample_run

pytest.importorskip("axe_core_python", reason="it holds axe-core, the checker of pages")

FAULTS = f"""(async () => {{
  const found = [];
  for (const tab of [...document.querySelectorAll('#detail [role=tab]')].map(t => t.textContent)) {{
    [...document.querySelectorAll('#detail [role=tab]')].find(t => t.textContent === tab).click();
    {TURN}
    const {{ violations }} = await axe.run({{ exclude: [['.js-plotly-plot']] }});
    found.push(...violations.map(v => [tab, v.id, v.impact, v.nodes[0].html.slice(0, 200)]));
  }}
  return JSON.stringify(found);
}})()"""


def test_axe_core_finds_no_fault_in_a_report(tmp_path: Path) -> None:
    axe = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    file = tmp_path / "report.html"
    file.write_text(report(sample_run(40), ENVIRONMENT, PEERS), encoding="utf-8")
    with opened(chromium()) as tab:
        for scheme, width in (("light", 1400), ("dark", 390)):
            scheme_of_media = [{"name": "prefers-color-scheme", "value": scheme}]
            tab.ask("Emulation.setEmulatedMedia", features=scheme_of_media)
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            tab.ask("Emulation.setDeviceMetricsOverride", **size)
            tab.visit(file.as_uri())
            tab.evaluate(DRAWN)
            tab.evaluate(f"{axe}; 0")
            assert json.loads(tab.evaluate(FAULTS)) == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
