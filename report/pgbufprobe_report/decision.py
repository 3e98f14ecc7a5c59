"""The decision: the curve of reads over sizes, and its figures."""

from __future__ import annotations

import math

from pgbufprobe_lab.formatting import MISSING, number, percent, size
from pgbufprobe_lab.pages import Chart
from pgbufprobe_lab.pages.charts import Axis, Series, curve

from pgbufprobe_report.view import UNKNOWN, Facts, Part, Row, interval, known, table

READS = "reads: not in shared_buffers"
WAITS = "storage reads: in neither cache"
MORE = "reads, if there were more memory"
LABELLED = (0.25, 0.5, 1, 2, 4)  # sizes on the axis
RATIOS = {READS: ("estd_miss_ratio", "miss_ratio"), WAITS: ("estd_storage_ratio", "storage_ratio")}


def fits(row: Row) -> bool:
    """A size of which nothing is known may fit."""
    return row["fits"] in ("yes", None)


def points(rows: list[Row], series: str, name: str = "") -> list[Row]:
    """Returns the known points of a line."""
    value, ratio = RATIOS[series]
    return [
        {
            "x": row["shared_buffers_bytes"],
            "y": 100 * row[value],
            "low": None if row.get(f"{ratio}_low") is None else 100 * row[f"{ratio}_low"],
            "high": None if row.get(f"{ratio}_high") is None else 100 * row[f"{ratio}_high"],
            "size": size(row["shared_buffers_bytes"]),
            "series": name or series,
        }
        for row in rows
        if row[value] is not None and row["size_factor"] <= 4
    ]


def more_memory(sizes: list[Row], added: list[Row]) -> list[Row]:
    """Returns the line for sizes that do not fit, which begins at the largest size that does."""
    small = [row["size_factor"] for row in sizes if fits(row)]
    if len(small) == len(sizes):
        return []
    rows = [row for row in added if row["size_factor"] >= max(small, default=0)]
    return [point | {"low": None, "high": None} for point in points(rows, READS, MORE)]


def grey_from(sizes: list[Row]) -> float | None:
    """Returns where the sizes begin that do not fit: between the last that fits and the next."""
    small = [row["shared_buffers_bytes"] for row in sizes if fits(row)]
    large = [row["shared_buffers_bytes"] for row in sizes if not fits(row) and row["size_factor"] <= 4]
    return math.sqrt(max(small) * min(large)) if small and large else None


def axis(sizes: list[Row]) -> Axis:
    return Axis(
        "shared_buffers", sizes=tuple(row["shared_buffers_bytes"] for row in sizes if row["size_factor"] in LABELLED)
    )


def markers(facts: Facts) -> dict[str, float]:
    """Returns today's size and the advised one."""
    found = {row["mark"]: row["shared_buffers_bytes"] for row in facts.rows("sizes")}
    today = facts.server["shared_buffers_bytes"]
    keep = facts.answer("size").get("value") == 1
    marks: dict[str, float] = {f"today, and advised: {size(today)}" if keep else f"today: {size(today)}": today}
    if "advised" in found:
        marks[f"advised: {size(found['advised'])}"] = found["advised"]
    return marks


def chart(facts: Facts) -> tuple[Chart, ...]:
    sizes = facts.rows("sizes")
    lines = {
        READS: points(sizes, READS),
        WAITS: points(sizes, WAITS),
        MORE: more_memory(sizes, facts.rows("sizes_added")),
    }
    names = tuple(name for name, found in lines.items() if found)
    if not lines[READS]:
        return ()
    series = Series(names, tuple({READS: 0, WAITS: 1, MORE: 4}[name] for name in names))
    rows = [row for found in lines.values() for row in found]
    grey = grey_from(sizes)
    spec = curve(rows, axis(sizes), Axis("% of block accesses"), series, markers(facts), grey)
    caption = "Bands are 95 % intervals."
    if WAITS not in names:
        caption += " Which reads wait for storage is unknown; the reason is below."
    if grey is not None:
        caption += " The sizes in the grey area do not fit into memory."
    return (Chart("Block accesses that shared_buffers does not serve", caption, spec, wide=True, name="chart-curve"),)


def cells(row: Row, added: dict[float, Row]) -> tuple[str, ...]:
    """Returns the cells of one size."""
    name = size(row["shared_buffers_bytes"]) + (f", {row['mark']}" if row["mark"] else "")
    if fits(row):
        return (
            name,
            known(row["os_cache_bytes"], size),
            known(row["fits"]),
            interval(row, *RATIOS[READS]),
            interval(row, *RATIOS[WAITS]),
            known(row["estd_read_ms_per_second"], lambda ms: f"{number(ms)} ms"),
        )
    more = added.get(row["size_factor"], {}).get("estd_miss_ratio")
    reads = UNKNOWN if more is None else f"{percent(more)} with more memory"
    return (name, MISSING, f"no: {row['fits']}", reads, "does not fit", "does not fit")


def notes(sizes: list[Row]) -> tuple[str, ...]:
    """Returns what the server says about sizes, each once."""
    found: dict[str, list[str]] = {}
    for row in sizes:
        if row["note"] and fits(row):
            found.setdefault(row["note"], []).append(size(row["shared_buffers_bytes"]))
    count = sum(1 for row in sizes if fits(row))
    return tuple(f"{'All sizes' if len(of) == count else ', '.join(of)}: {note}." for note, of in found.items())


def part(facts: Facts) -> Part:
    sizes = facts.rows("sizes")
    added = {row["size_factor"]: row for row in facts.rows("sizes_added")}
    columns = [("shared_buffers", False), ("Page cache", True), ("Fits", False)]
    columns += [("Reads", True), ("Wait for storage", True), ("Waiting per second", True)]
    faded = frozenset(number for number, row in enumerate(sizes) if not fits(row))
    made = table(
        "Shares of block accesses at each size, with 95 % intervals, and the time that all sessions together wait",
        columns,
        [cells(row, added) for row in sizes],
        long=True,
        faded=faded,
    )
    missing = " ".join(t for t in (facts.why("sizes"), facts.why("sizes_added")) if t)
    return Part(
        "decision",
        "Other sizes",
        unknown=missing,
        charts=chart(facts),
        tables=(made,) if sizes else (),
        after=notes(sizes),
    )
