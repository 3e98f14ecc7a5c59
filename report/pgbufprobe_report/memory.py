"""How much memory the load needs: waiting over totals of memory, each with its best split."""

from __future__ import annotations

from pgbufprobe_page import Picture
from pgbufprobe_page.formatting import size
from pgbufprobe_page.svg import Axis, Line, Point
from pgbufprobe_report.decision import STORAGE, WAITING, markers, picture
from pgbufprobe_report.facts import Memory, Report
from pgbufprobe_report.view import UNKNOWN, Part, certain, known, said, table, tables


def best(rows: list[Memory]) -> list[Memory]:
    """Returns a row for each total: today's memory as it is divided is not the best split if another one is advised."""
    advised = any(row.has("advised") for row in rows)
    return [row for row in rows if not (advised and row.has("today"))]


def points(rows: list[Memory]) -> list[Point]:
    """Returns the known totals."""
    return [
        Point(
            row.memory_bytes,
            row.read_ms_per_second,
            row.read_ms_low,
            row.read_ms_high,
            f"{size(row.memory_bytes)}, {known(row.shared_buffers_bytes, size)} of shared_buffers: {WAITING.cell(row)}",
        )
        for row in rows
        if row.read_ms_per_second is not None and certain(*WAITING.values(row))
    ]


def charts(rows: list[Memory]) -> tuple[Picture, ...]:
    found = points(best(rows))
    if len(found) < 2:
        return ()
    marks = markers(
        {
            word: row.memory_bytes
            for mark, word in (("today", "today"), ("target", "enough"))
            for row in rows
            if row.has(mark)
        }
    )
    line = Line("waiting with the best split", WAITING.colour, found)
    return (picture([line], WAITING, marks, wide=True, axis=Axis("memory of the machine or container", "sizes")),)


def part(report: Report) -> tuple[Part, ...]:
    """Returns nothing if no total of memory is known."""
    fact = report.facts.memory
    rows = fact.found
    if not points(rows) and not fact.why:
        return ()
    made = table(
        "Other memory, with its best split",
        ["Memory", "Waiting per second", "Storage reads", "shared_buffers", "Page cache"],
        [
            (
                size(row.memory_bytes) + (f", {row.mark}" if row.mark else ""),
                WAITING.cell(row),
                STORAGE.cell(row),
                known(row.shared_buffers_bytes, size),
                known(row.os_cache_bytes, size),
            )
            for row in rows
            if {WAITING.cell(row), STORAGE.cell(row)} != {UNKNOWN}
        ],
        long=True,
    )
    notes = said([(size(row.memory_bytes), row.note) for row in rows], "All totals")
    text = ("Enough is the least memory that is no worse than today's as it is divided.",) if points(rows) else ()
    return (
        Part("memory", "More or less memory", text, fact.why, charts=charts(rows), details=tables(made), after=notes),
    )
