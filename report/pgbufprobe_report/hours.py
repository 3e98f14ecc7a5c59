"""The last days by hour: how long sessions waited, and which size would have been best."""

from __future__ import annotations

from datetime import UTC, datetime

from pgbufprobe_page import Chart
from pgbufprobe_page.charts import Axis, Row, Series, spans
from pgbufprobe_page.formatting import number, size
from pgbufprobe_report.facts import Hour, Report
from pgbufprobe_report.view import UNKNOWN, Part, known, measured, table, tables

# Which size would have been best, with the position in the palette.
BEST = {"the size was best": 0, "a larger one was better": 1, "a smaller one was better": 2, UNKNOWN: 4}
HOUR = 3_600_000  # milliseconds
SAME, LARGER, SMALLER = list(BEST)[:3]


def best(row: Hour) -> str:
    if row.best_bytes is None:
        return UNKNOWN
    if row.best_bytes == row.shared_buffers_bytes:
        return SAME
    return LARGER if row.best_bytes > row.shared_buffers_bytes else SMALLER


def points(report: Report) -> list[Row]:
    """Returns a bar for each hour in which waiting is known."""
    made = []
    for row in report.facts.hours.found:
        begun = datetime.fromisoformat(row.hour)
        if row.read_ms_per_second is not None:
            # The chart shows times as UTC.
            x = round(begun.replace(tzinfo=UTC).timestamp() * 1000)
            of = {"x": x, "end": x + HOUR, "y": row.read_ms_per_second, "series": best(row)}
            made.append(of | {"name": f"{begun:%Y-%m-%d %H:%M}", "label": known(row.best_bytes, size)})
    return made


def chart(report: Report) -> tuple[Chart, ...]:
    rows = points(report)
    if len(rows) < 2:
        return ()
    names = tuple(name for name in BEST if any(row["series"] == name for row in rows))
    series = Series(names, tuple(BEST[name] for name in names))
    zone = datetime.fromisoformat(report.facts.hours.found[-1].hour).strftime("%Z")
    spec = spans(rows, Axis(f"time, {zone}", clock=True), Axis("ms in each second"), series, "best size")
    caption = "Time that all sessions together waited, and whether another size would have been better in that hour."
    return (Chart("Waiting for reads, by hour", caption, spec, wide=True, name="chart-hours"),)


def average(rows: list[Hour], column: str) -> float | None:
    """Returns the average of a column, weighted by the time seen, of the hours in which it is known."""
    found = [(value, row.seconds) for row in rows if (value := getattr(row, column)) is not None]
    seconds = sum(weight for _, weight in found)
    return sum(value * weight for value, weight in found) / seconds if seconds else None


def part(report: Report) -> tuple[Part, ...]:
    """Returns nothing before two hours have been seen."""
    hours = report.facts.hours
    if len(hours.found) < 2 and not hours.why:
        return ()
    by_size: dict[int | None, list[Hour]] = {}
    for row in hours.found:
        by_size.setdefault(row.best_bytes, []).append(row)
    columns = [("Best size", False), ("Hours", True), ("Waiting in each second", True), ("It would have saved", True)]
    made = table(
        "Hours by the size that would have been best in them",
        columns,
        [
            (
                known(count, size),
                number(len(rows)),
                measured(average(rows, "read_ms_per_second"), "ms"),
                measured(average(rows, "saved_ms_per_second"), "ms"),
            )
            for count, rows in sorted(by_size.items(), key=lambda item: -len(item[1]))
        ],
    )
    return (Part("hours", "The last days", unknown=hours.why, charts=chart(report), tables=tables(made)),)
