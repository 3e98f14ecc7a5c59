"""The page about one server."""

from __future__ import annotations

from pgbufprobe_page import render as render_page
from pgbufprobe_report import decision, details, hours, memory, verdict
from pgbufprobe_report.facts import Answer, Report
from pgbufprobe_report.view import Part, moment


def title(report: Report) -> str:
    return f"shared_buffers of {report.server.cluster_name or report.server.database}"


def show(
    name: str,
    first: Answer,
    lines: tuple[tuple[str, str], ...],
    parts: tuple[Part, ...],
    bundle: str,
    about: str,
) -> str:
    """Renders parts below the first answer and its lines. `bundle` replaces the chart library."""
    charts = tuple(chart for part in parts for chart in part.charts)
    values = {"title": name, "first": first, "lines": lines, "parts": parts, "about": about}
    return render_page(__package__, "page.html.j2", charts, bundle, **values)


def render(report: Report, bundle: str = "") -> str:
    server, facts = report.server, report.facts
    about = f"PostgreSQL {server.server_version}, database {server.database}, {moment(report.taken_at)}."
    parts = (decision.part(report), *memory.part(report), *hours.part(report), *details.parts(report))
    return show(title(report), verdict.headline(facts), verdict.lines(facts), parts, bundle, about)
