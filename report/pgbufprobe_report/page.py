"""The page about one server."""

from __future__ import annotations

from typing import Any

from pgbufprobe_lab.pages import render as render_page

from pgbufprobe_report import decision, details
from pgbufprobe_report.view import BADGES, UNKNOWN, Facts, Part, Row, moment

NO_ANSWER: Row = {
    "answer": "",
    "verdict": UNKNOWN,
    "action": None,
    "question": "Which size should shared_buffers have?",
}


def title(facts: Facts) -> str:
    return f"shared_buffers of {facts.server['cluster_name'] or facts.server['database']}"


def show(name: str, first: Row, parts: tuple[Part, ...], bundle: str, **context: object) -> str:
    """Renders parts below the first answer. `bundle` replaces the chart library."""
    kind, sign = BADGES.get(first["verdict"], BADGES["unknown"])
    charts = tuple(chart for part in parts for chart in part.charts)
    return render_page(
        __package__,
        "page.html.j2",
        charts,
        bundle,
        title=name,
        first=first | {"kind": kind, "sign": sign},
        parts=parts,
        **context,
    )


def render(data: dict[str, Any], bundle: str = "") -> str:
    facts = Facts(data)
    first = facts.answer("size") or NO_ANSWER | {"answer": facts.why("checkup")}
    server = facts.server
    about = f"PostgreSQL {server['server_version']}, database {server['database']}, {moment(data['taken_at'])}."
    return show(title(facts), first, (decision.part(facts), *details.parts(facts)), bundle, about=about)
