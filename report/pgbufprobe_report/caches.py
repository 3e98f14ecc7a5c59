"""The parts about what both caches hold: as a bar, as maps and as tables, all sorted by what is wasted."""

from __future__ import annotations

from pgbufprobe_page import Chart
from pgbufprobe_page.charts import Axis, Series, stacks
from pgbufprobe_page.formatting import number, size
from pgbufprobe_report.facts import Cached, Cell, Facts
from pgbufprobe_report.view import MB, Blocks, Part, joined, known, share_of, table, tables, with_error

SHARED, BOTH, OS = "only in shared_buffers", "in both caches", "only in the page cache"


def both_chart(row: Cached) -> tuple[Chart, ...]:
    whole = row.distinct
    if not whole:
        return ()
    shared, os, both = row.shared_bytes or 0, row.os_bytes or 0, row.both_bytes or 0
    sizes = {SHARED: shared - both, BOTH: both, OS: os - both}
    points = [
        {
            "x": value / MB,
            "y": "caches",
            "series": name,
            "place": place,
            "label": size(value),
            "wide": value > whole / 8,
        }
        for place, (name, value) in enumerate(sizes.items())
    ]
    spec = stacks(points, Axis("MB"), Axis("", ("caches",)), Series(tuple(sizes)), bar=44)
    caption = f"{size(both)} are cached twice: {share_of(both, whole)} of the data that is in any cache."
    return (Chart("This database in both caches", caption, spec, wide=True, name="chart-caches"),)


def css(cell: Cell) -> str:
    """Returns the upper ends of the states of a range of blocks. What is unknown is in neither cache."""
    shared, os, both = cell.shared_blocks or 0, cell.os_blocks or 0, cell.both_blocks or 0
    ends = (both, shared, shared + os - both)
    return ";".join(f"--{name}:{100 * end / cell.blocks:.0f}%" for name, end in zip("bso", ends, strict=True))


def maps(facts: Facts) -> tuple[Blocks, ...]:
    """Returns the maps of the largest relations, most wasted first."""
    cached = {(row.oid, row.fork): row for row in facts.caches.found}
    made = []
    for row in facts.maps.found:
        of = cached.get((row.oid, row.fork))
        both = of.both_bytes if of else None
        cells = row.cells or []
        unknown = f"The map is unknown: {row.unknown}." if row.unknown else ""
        if any(cell.os_blocks is None for cell in cells):
            unknown = "What the page cache holds is unknown; the map shows shared_buffers alone."
        text = f"{known(both, size)} cached twice, {share_of(both, of.distinct if of else None)} of what is cached"
        made.append(Blocks(f"{row}, {size(row.bytes)}", text, tuple(map(css, cells)), unknown, both))
    return tuple(sorted(made, key=lambda each: -(each.both or 0)))


def both(facts: Facts) -> Part:
    total = facts.database
    found = [row for row in facts.caches.found if row.oid is not None]
    columns = [("Relation", False), ("Cached twice", True), ("Share of what is cached", True)]
    columns += [("shared_buffers", True), ("Page cache", True), ("Size", True)]
    made = table(
        "Relations of this database, most bytes cached twice first",
        columns,
        [
            (
                str(row),
                with_error(row.both_bytes, row.both_bytes_error),
                share_of(row.both_bytes, row.distinct),
                known(row.shared_bytes, size),
                known(row.os_bytes, size),
                size(row.bytes),
            )
            for row in sorted(found, key=lambda row: -(row.both_bytes or 0))
        ],
        long=True,
    )
    text: tuple[str, ...] = ()
    if total and not total.trustworthy:
        text = ("What the page cache holds of this database is unknown for at least one file.",)
    missing = joined(facts.caches.why, facts.maps.why)
    charts = both_chart(total) if total else ()
    return Part("caches", "Both caches", text, missing, charts=charts, maps=maps(facts), tables=tables(made))


def pool(facts: Facts) -> Part:
    columns = [("Relation", False), ("Unused since the last pass", True), ("Share of its pages", True)]
    columns += [("In shared_buffers", True), ("Dirty", True), ("Average usage count", True)]
    made = table(
        "Relations of all databases, most bytes at usage count 0 first",
        columns,
        [
            (
                str(row),
                known(row.idle_bytes, size),
                share_of(row.idle_bytes, row.bytes),
                with_error(row.bytes, row.bytes_error),
                size(row.dirty_bytes),
                known(row.usagecount_avg, number),
            )
            for row in sorted(facts.pool.found, key=lambda row: -(row.idle_bytes or 0))
        ],
        long=True,
    )
    return Part("pool", "What the pool holds", unknown=facts.pool.why, tables=tables(made))
