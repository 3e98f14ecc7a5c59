"""The page about one server."""

from __future__ import annotations

from pgbufprobe_page import render as render_page
from pgbufprobe_report import decision, details
from pgbufprobe_report.facts import Answer, Report
from pgbufprobe_report.view import UNKNOWN, Part, moment


def title(report: Report) -> str:
    return f"shared_buffers of {report.server.cluster_name or report.server.database}"


def show(name: str, first: Answer, parts: tuple[Part, ...], bundle: str, about: str) -> str:
    """Renders parts below the first answer. `bundle` replaces the chart library."""
    charts = tuple(chart for part in parts for chart in part.charts)
    return render_page(__package__, "page.html.j2", charts, bundle, title=name, first=first, parts=parts, about=about)


def render(report: Report, bundle: str = "") -> str:
    server, facts = report.server, report.facts
    first = facts.answer("size") or Answer("size", "", facts.checkup.why, None, UNKNOWN, None)
    about = f"PostgreSQL {server.server_version}, database {server.database}, {moment(report.taken_at)}."
    return show(title(report), first, (decision.part(report), *details.parts(report)), bundle, about)
