"""The decision: the curve of reads over sizes, and its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgbufprobe_page import Chart
from pgbufprobe_page.charts import Axis, Row, Series, curve
from pgbufprobe_page.formatting import MISSING, percent, size
from pgbufprobe_report.facts import AddedSize, Facts, Ratios, Report, Size
from pgbufprobe_report.view import UNKNOWN, Part, interval, joined, known, milliseconds, said, table

READS = "reads: not in shared_buffers"
WAITS = "storage reads: in neither cache"
MORE = "reads, if there were more memory"
PLACES = {READS: 0, WAITS: 1, MORE: 4}  # in the palette
ABOUT_ALL = "all sizes: "  # begins what a note of today's size says about all
LABELLED = (0.25, 0.5, 1, 2, 4)  # sizes on the axis


def ratio(row: Ratios, series: str) -> tuple[float | None, float | None, float | None]:
    """Returns what a line shows of a row, and the ends of its interval."""
    if series == WAITS:
        return row.estd_storage_ratio, row.storage_ratio_low, row.storage_ratio_high
    return row.estd_miss_ratio, row.miss_ratio_low, row.miss_ratio_high


def points(rows: Sequence[Size | AddedSize], series: str, name: str = "") -> list[Row]:
    """Returns the known points of a line."""
    made = []
    for row in rows:
        value, *ends = ratio(row, series) if isinstance(row, Size) else (row.estd_miss_ratio, None, None)
        if value is not None and row.size_factor <= 4:
            low, high = (None if end is None else 100 * end for end in ends)
            of = {"x": row.shared_buffers_bytes, "size": size(row.shared_buffers_bytes), "series": name or series}
            made.append(of | {"y": 100 * value, "low": low, "high": high})
    return made


def more_memory(sizes: list[Size], added: list[AddedSize]) -> list[Row]:
    """Returns the line for sizes that do not fit, which begins at the largest size that does."""
    small = [row.size_factor for row in sizes if row.may_fit]
    if len(small) == len(sizes):
        return []
    return points([row for row in added if row.size_factor >= max(small, default=0)], MORE)


def grey_from(sizes: list[Size]) -> float | None:
    """Returns where the sizes begin that do not fit: between the last that fits and the next."""
    small = [row.shared_buffers_bytes for row in sizes if row.may_fit]
    large = [row.shared_buffers_bytes for row in sizes if not row.may_fit and row.size_factor <= 4]
    return math.sqrt(max(small) * min(large)) if small and large else None


def markers(report: Report) -> dict[str, float]:
    """Returns today's size and the advised one."""
    today = report.server.shared_buffers_bytes
    advised = report.facts.decided.advised_bytes if report.facts.decided else None
    if advised is None:
        return {f"today: {size(today)}": today}
    if advised == today:
        return {f"today, and advised: {size(today)}": today}
    return {f"today: {size(today)}": today, f"advised: {size(advised)}": advised}


def chart(report: Report) -> tuple[Chart, ...]:
    sizes = report.facts.sizes.found
    lines = {
        READS: points(sizes, READS),
        WAITS: points(sizes, WAITS),
        MORE: more_memory(sizes, report.facts.sizes_added.found),
    }
    names = tuple(name for name, found in lines.items() if found)
    if not lines[READS]:
        return ()
    shown = tuple(row.shared_buffers_bytes for row in sizes if row.size_factor in LABELLED)
    x, y = Axis("shared_buffers", sizes=shown), Axis("% of block accesses")
    rows = [row for found in lines.values() for row in found]
    grey = grey_from(sizes)
    spec = curve(rows, x, y, Series(names, tuple(PLACES[name] for name in names)), markers(report), grey)
    caption = "Bands are 95 % intervals."
    if WAITS not in names:
        caption += " Which reads wait for storage is unknown; the reason is below."
    if grey is not None:
        caption += " The sizes in the grey area do not fit into memory."
    return (Chart("Block accesses that shared_buffers does not serve", caption, spec, wide=True, name="chart-curve"),)


def cells(row: Size, added: dict[float, AddedSize]) -> tuple[str, ...]:
    """Returns the cells of one size."""
    name = size(row.shared_buffers_bytes) + (f", {row.mark}" if row.mark else "")
    if row.may_fit:
        return (
            name,
            known(row.os_cache_bytes, size),
            known(row.fits),
            interval(*ratio(row, READS)),
            interval(*ratio(row, WAITS)),
            milliseconds(row.estd_read_ms_per_second, row.read_ms_low, row.read_ms_high),
        )
    more = added[row.size_factor].estd_miss_ratio if row.size_factor in added else None
    reads = UNKNOWN if more is None else f"{percent(more)} with more memory"
    return (name, MISSING, f"no: {row.fits}", reads, "does not fit", "does not fit")


def notes(sizes: list[Size]) -> tuple[str, ...]:
    """Returns what the server says about sizes, each once. In the row of today's, it may say what is about all."""
    parts = [(size(row.shared_buffers_bytes), (row.note or "").split("; ")) for row in sizes if row.may_fit]
    about_all = [part for _, note in parts for part in note if part.startswith(ABOUT_ALL)]
    rest = [(name, "; ".join(part for part in note if part not in about_all)) for name, note in parts]
    return (*(f"A{part[1:]}." for part in about_all), *said(rest, "All sizes"))


def part(report: Report) -> Part:
    facts: Facts = report.facts
    sizes = facts.sizes.found
    added = {row.size_factor: row for row in facts.sizes_added.found}
    columns = [("shared_buffers", False), ("Page cache", True), ("Fits", False)]
    columns += [("Reads", True), ("Wait for storage", True), ("Waiting per second", True)]
    made = table(
        "Shares of block accesses at each size, with 95 % intervals, and the time that all sessions together wait",
        columns,
        [cells(row, added) for row in sizes],
        long=True,
        faded=frozenset(number for number, row in enumerate(sizes) if not row.may_fit),
    )
    return Part(
        "decision",
        "Other sizes",
        unknown=joined(facts.sizes.why, facts.sizes_added.why),
        charts=chart(report),
        tables=(made,) if sizes else (),
        after=notes(sizes),
    )
