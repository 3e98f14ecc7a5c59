"""The page about one server."""

from __future__ import annotations

from typing import Any

from pgbufprobe_page import Legend
from pgbufprobe_page import render as render_page
from pgbufprobe_page.formatting import size
from pgbufprobe_report import caches, decision, details, hours, memory, verdict
from pgbufprobe_report.facts import Answer, Report
from pgbufprobe_report.view import Part, moment

STATES = Legend(
    (
        ("in both caches", caches.BOTH),
        ("only in shared_buffers", caches.SHARED),
        ("only in the page cache", caches.OS),
        ("in neither", "grid"),
    )
)


def title(report: Report) -> str:
    return f"shared_buffers of {report.server.cluster_name or report.server.database}"


def about(report: Report) -> str:
    """Returns which server this is."""
    server, memory = report.server, report.facts.memory_bytes
    machine = ", ".join(filter(None, (server.host, f"{size(memory)} of memory" if memory else "")))
    version = f"PostgreSQL {server.release}, running since {moment(server.started_at)}"
    return ". ".join(
        filter(None, (machine, version, f"Database {server.database}, asked at {moment(report.taken_at)}."))
    )


def show(
    name: str,
    first: Answer,
    lines: tuple[tuple[str, str], ...],
    parts: tuple[Part, ...],
    about: str,
    back: str = "",
) -> str:
    """Renders parts below the first answer and its lines. `back` is a link."""
    values: dict[str, Any] = {
        "title": name,
        "first": first,
        "lines": lines,
        "parts": parts,
        "about": about,
        "back": back,
        "states": STATES,
    }
    return render_page(__package__, "page.html.j2", **values)


def render(report: Report, back: str = "") -> str:
    facts = report.facts
    parts = (
        decision.part(report),
        *hours.part(report),
        *memory.part(report),
        details.answers(facts),
        *details.parts(report),
    )
    return show(title(report), verdict.headline(facts), verdict.lines(facts), parts, about(report), back)
