"""Writes the report as HTML."""

from __future__ import annotations

from pgbufprobe_lab.analysis.rules import FAILS, HOLDS, UNKNOWN
from pgbufprobe_lab.report.model import Report
from pgbufprobe_page import render as render_page
from pgbufprobe_page.formatting import MISSING

TITLE = "What shared_buffers costs on this machine"
BADGES = {HOLDS: ("holds", "✓"), FAILS: ("fails", "✗"), UNKNOWN: ("unknown", "?")}


def render(report: Report) -> str:
    return render_page(
        __package__,
        "report.html.j2",
        title=TITLE,
        report=report,
        badges=BADGES,
        missing=MISSING,
    )
