"""The page about many servers: which of them have the wrong size, and what it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from pgbufprobe_page import render as render_page
from pgbufprobe_page.formatting import number, size
from pgbufprobe_report import verdict
from pgbufprobe_report.facts import BADGES, Report, Verdict
from pgbufprobe_report.servers import Answered
from pgbufprobe_report.sparkline import HEIGHT, WIDTH, Sparkline, sparkline
from pgbufprobe_report.view import UNKNOWN, figure, milliseconds, moment

NO_ANSWER = "no answer"
VERDICTS = ("change", "consider", "fine", UNKNOWN, NO_ANSWER)


@dataclass(frozen=True)
class Row:
    """A server. `saved` is in ms of waiting in each second, `spare` in bytes; None is unknown."""

    name: str
    href: str
    about: str
    verdict: str
    sizes: str
    saved: float | None
    gain: str
    spare: int | None
    curve: Sparkline | None
    reason: str

    @property
    def badge(self) -> tuple[str, str]:
        return BADGES.get(self.verdict, ("unknown", "?"))

    @property
    def spare_text(self) -> str:
        return UNKNOWN if self.spare is None else size(self.spare) if self.spare else "nothing"


def spare(row: Verdict) -> int | None:
    """Returns what the pool could give to the page cache while sessions wait no longer than with the advised size."""
    if row.advised_bytes is None:
        return None
    least = row.advised_bytes if row.equal_from_bytes is None else min(row.advised_bytes, row.equal_from_bytes)
    return max(0, row.today_bytes - least)


def gain(row: Verdict) -> str:
    """Returns the time that the advised size saves in each second."""
    if row.advised_bytes is None:
        return UNKNOWN
    if row.advised_bytes == row.today_bytes:
        return "nothing"
    saved = milliseconds(row.saved_ms_per_second, row.saved_ms_low, row.saved_ms_high)
    return "not certain yet" if saved == UNKNOWN else saved


def about(report: Report) -> str:
    server, memory = report.server, report.facts.memory_bytes
    parts = [server.cluster_name, f"database {server.database}", f"PostgreSQL {server.release}"]
    parts += [f"{size(memory)} of memory"] if memory else []
    return ", ".join(filter(None, [*parts, "standby" if server.standby else ""]))


def answered(each: Answered) -> Row:
    """Returns the row of a server."""
    href = f"{quote(each.file)}.html"
    if each.report is None:
        return Row(each.name, "", "", NO_ANSWER, UNKNOWN, None, UNKNOWN, None, None, each.reason)
    row, today = each.report.facts.decided, size(each.report.server.shared_buffers_bytes)
    curve, of = sparkline(each.report), about(each.report)
    if row is None or row.advised_bytes is None:
        reason = verdict.headline(each.report.facts).answer
        return Row(each.name, href, of, UNKNOWN, today, None, UNKNOWN, None, curve, reason)
    kept = row.advised_bytes == row.today_bytes
    sizes = f"{today}, keep" if kept else f"{today} → {size(row.advised_bytes)}"
    saved = 0.0 if kept else row.saved_ms_per_second
    return Row(each.name, href, of, row.verdict, sizes, saved, gain(row), spare(row), curve, "")


def by_verdict(rows: list[Row]) -> list[Row]:
    """Orders servers by what is to be done, and then by the time that they would gain."""
    return sorted(rows, key=lambda row: (VERDICTS.index(row.verdict), -(row.saved or 0), row.name))


def by_memory(rows: list[Row]) -> list[Row]:
    """Orders servers by the memory that they could give back."""
    return sorted(rows, key=lambda row: (-(row.spare or 0), row.spare is None, VERDICTS.index(row.verdict), row.name))


def servers(count: int) -> str:
    return f"{number(count)} server{'' if count == 1 else 's'}"


def headline(rows: list[Row]) -> str:
    changes = sum(row.verdict == "change" for row in rows)
    unknown = sum(row.verdict in (UNKNOWN, NO_ANSWER) for row in rows)
    if changes or not unknown:
        return f"{changes or 'None'} of {servers(len(rows))} should get another size of shared_buffers"
    return f"No server is known to need another size of shared_buffers; {unknown} of {number(len(rows))} are unknown"


def lines(rows: list[Row]) -> tuple[tuple[str, str], ...]:
    """Returns how many servers have which verdict, and what that is worth."""
    of = {name: [row for row in rows if row.verdict == name] for name in VERDICTS}
    spares = [row.spare for row in rows if row.spare]

    def worth(found: list[Row]) -> str:
        saved = sum(row.saved or 0 for row in found)
        wait = f"{figure(saved)} ms" if saved < 1000 else f"{figure(saved / 1000)} s"
        return f": all their users together would wait {wait} less in each second" if saved else ""

    pairs = [
        ("Change the size", servers(len(of["change"])) + worth(of["change"])),
        ("Perhaps change it", servers(len(of["consider"])) + worth(of["consider"]) + "; not certain yet"),
        ("Keep the size", servers(len(of["fine"]))),
        (
            "Could give back",
            f"{servers(len(spares))}: {size(sum(spares))}. It is not free until shared_buffers is changed there; then "
            "the page cache uses it, and the times count on that",
        ),
        ("Unknown", servers(len(of[UNKNOWN])) + "; their reports have the reason"),
        ("No answer", servers(len(of[NO_ANSWER]))),
    ]
    return tuple(pair for pair in pairs if not pair[1].startswith("0 "))


def render(found: list[Answered]) -> str:
    """Returns the page, which links to the reports of its servers."""
    rows = by_verdict([answered(each) for each in found])
    memory = {id(row): place for place, row in enumerate(by_memory(rows))}
    taken = sorted((each.report.taken_at for each in found if each.report), key=datetime.fromisoformat)
    values: dict[str, Any] = {
        "title": f"shared_buffers of {servers(len(rows))}",
        "headline": headline(rows),
        "lines": lines(rows),
        "rows": [(row, memory[id(row)]) for row in rows],
        "taken": " to ".join(dict.fromkeys((moment(taken[0]), moment(taken[-1])))) if taken else "",
        "box": (WIDTH, HEIGHT),
    }
    return render_page(__package__, "fleet.html.j2", script=True, **values)
