"""How much memory the load needs: waiting over totals of memory, each with its best split."""

from __future__ import annotations

from pgbufprobe_page import Chart
from pgbufprobe_page.charts import Axis, Row, Series, curve, stacks
from pgbufprobe_page.formatting import size
from pgbufprobe_report.facts import Memory, Report
from pgbufprobe_report.view import MB, Part, interval, known, milliseconds, said, table, tables

WAITING = "waiting with the best split"
CACHES = Series(("shared_buffers", "page cache"), (0, 2))  # as in the chart of what both hold
LABELLED = (0.25, 0.5, 1, 2, 4)  # totals on the axis


def best(rows: list[Memory]) -> list[Memory]:
    """Returns a row for each total: today's memory as it is divided is not the best split if another one is advised."""
    advised = any(row.has("advised") for row in rows)
    return [row for row in rows if not (advised and row.has("today"))]


def points(rows: list[Memory]) -> list[Row]:
    """Returns the known totals."""
    made = []
    for row in rows:
        if row.estd_read_ms_per_second is not None:
            split = f"{size(row.memory_bytes)}, with {known(row.shared_buffers_bytes, size)} of shared_buffers"
            of = {"x": row.memory_bytes, "size": split, "series": WAITING, "y": row.estd_read_ms_per_second}
            made.append(of | {"low": row.read_ms_low, "high": row.read_ms_high})
    return made


def named(row: Memory) -> str:
    return size(row.memory_bytes) + (f", {row.mark}" if row.mark else "")


def splits(rows: list[Memory]) -> Chart:
    """Returns the chart of how each known total is divided."""
    made: list[Row] = []
    names = []
    largest = max(row.memory_bytes for row in rows)
    for row in rows:
        if row.shared_buffers_bytes is None or row.os_cache_bytes is None:
            continue
        names.append(named(row))
        for place, cache in enumerate((row.shared_buffers_bytes, row.os_cache_bytes)):
            of = {"x": cache / MB, "y": names[-1], "series": CACHES.names[place], "place": place}
            made.append(of | {"label": size(cache), "wide": cache > largest / 12})
    spec = stacks(made, Axis("MB"), Axis("", tuple(names)), CACHES, bar=22)
    caption = "The rest of the memory is the server's own, the kernel's and that of others."
    return Chart("How both caches divide it", caption, spec, wide=True, name="chart-splits")


def charts(rows: list[Memory]) -> tuple[Chart, ...]:
    found = points(best(rows))
    if len(found) < 2:
        return ()
    markers: dict[str, float] = {
        f"today: {size(row.memory_bytes)}": row.memory_bytes for row in rows if row.has("today")
    }
    markers |= {f"enough: {size(row.memory_bytes)}": row.memory_bytes for row in rows if row.has("target")}
    shown = tuple(row.memory_bytes for row in best(rows) if row.memory_factor in LABELLED)
    x, y = Axis("memory of the machine or container", sizes=shown), Axis("ms in each second")
    spec = curve(found, x, y, Series((WAITING,), (1,)), markers)
    caption = "Bands are 95 % intervals. Enough is the least memory that is no worse than today's as it is divided."
    return (Chart("Waiting for reads, by memory", caption, spec, wide=True, name="chart-memory"), splits(rows))


def cells(row: Memory) -> tuple[str, ...]:
    return (
        named(row),
        known(row.shared_buffers_bytes, size),
        known(row.os_cache_bytes, size),
        interval(row.estd_storage_ratio, row.storage_ratio_low, row.storage_ratio_high),
        milliseconds(row.estd_read_ms_per_second, row.read_ms_low, row.read_ms_high),
        milliseconds(row.estd_work_ms_per_second, row.work_ms_low, row.work_ms_high),
    )


def part(report: Report) -> tuple[Part, ...]:
    """Returns nothing if no total of memory is known."""
    rows = report.facts.memory.found
    columns = [("Memory", False), ("shared_buffers", True), ("Page cache", True)]
    columns += [("Wait for storage", True), ("Waiting per second", True), ("Work per second", True)]
    made = table(
        "Other memory of this machine or container, with its best split",
        columns,
        [cells(row) for row in rows],
        long=True,
    )
    notes = said([(size(row.memory_bytes), row.note) for row in rows], "All totals")
    if not points(rows) and not report.facts.memory.why:
        return ()
    why = report.facts.memory.why
    return (Part("memory", "More or less memory", unknown=why, charts=charts(rows), tables=tables(made), after=notes),)
