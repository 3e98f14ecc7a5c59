"""The last days by hour: how long sessions waited, and which size would have been best."""

from __future__ import annotations

from datetime import UTC, datetime

from pgbufprobe_page import Legend, Picture
from pgbufprobe_page.formatting import number, size
from pgbufprobe_page.svg import HOUR, NARROW, WIDE, Axis, bars
from pgbufprobe_report.facts import Hour, Report
from pgbufprobe_report.view import UNKNOWN, Part, known, milliseconds, table, tables

# Which size would have been best, with its colour.
SAME, LARGER, SMALLER = "the size was best", "a larger one was better", "a smaller one was better"
BEST = {SAME: "c1", LARGER: "c2", SMALLER: "c3", UNKNOWN: "c5"}


def best(row: Hour) -> str:
    if row.best_bytes is None:
        return UNKNOWN
    if row.best_bytes == row.shared_buffers_bytes:
        return SAME
    return LARGER if row.best_bytes > row.shared_buffers_bytes else SMALLER


def groups(rows: list[Hour]) -> dict[str, list[tuple[float, float, float]]]:
    """Returns a bar for each hour in which waiting is known, by what was best."""
    made: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        if row.read_ms_per_second is not None:
            # The chart shows times as UTC.
            begun = datetime.fromisoformat(row.hour).replace(tzinfo=UTC).timestamp()
            made.setdefault(best(row), []).append((begun, begun + HOUR, row.read_ms_per_second))
    return {name: made[name] for name in BEST if name in made}


def charts(rows: list[Hour]) -> tuple[Picture, ...]:
    found = groups(rows)
    if sum(map(len, found.values())) < 2:
        return ()
    axis = Axis(f"time, {datetime.fromisoformat(rows[-1].hour):%Z}", "clock")
    coloured = {BEST[name]: group for name, group in found.items()}
    drawn = tuple(
        bars(coloured, axis, "ms in each second", "Waiting for reads, by hour", box) for box in (WIDE, NARROW)
    )
    names = Legend(tuple((name, BEST[name]) for name in found))
    return (Picture("Waiting of all sessions together, by hour", "", drawn, names),)


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
    made = table(
        "Hours by the size that would have been best in them",
        ["Best size", "Hours", "Waiting per second", "It would have saved"],
        [
            (
                known(count, size),
                number(len(rows)),
                *(milliseconds(average(rows, column)) for column in ("read_ms_per_second", "saved_ms_per_second")),
            )
            for count, rows in sorted(by_size.items(), key=lambda item: -len(item[1]))
        ],
        long=True,
    )
    return (Part("hours", "The last days", unknown=hours.why, charts=charts(hours.found), details=tables(made)),)
