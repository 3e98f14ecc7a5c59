"""The parts about what both caches hold: maps and tables, sorted by what is wasted."""

from __future__ import annotations

from pgbufprobe_page.formatting import duration, size
from pgbufprobe_page.svg import steps
from pgbufprobe_report.facts import Cell, Facts
from pgbufprobe_report.view import UNKNOWN, Blocks, Part, figure, joined, known, share_of, sized, table, tables

SHARED, BOTH, OS = "c1", "c2", "c3"  # colours: only in shared_buffers, in both, only in the page cache


def layers(cells: list[Cell]) -> dict[str, list[float]]:
    """Returns the upper ends of the states of each range of blocks, in percent. What is unknown is in neither cache."""
    found: dict[str, list[float]] = {OS: [], SHARED: [], BOTH: []}
    for cell in cells:
        shared, os, both = cell.shared_blocks or 0, cell.os_blocks or 0, cell.both_blocks or 0
        for name, end in ((OS, shared + os - both), (SHARED, shared), (BOTH, both)):
            found[name].append(100 * end / (cell.blocks or 1))
    return found


def maps(facts: Facts) -> tuple[Blocks, ...]:
    """Returns the maps of the largest relations, most wasted first."""
    cached = {(row.oid, row.fork): row for row in facts.caches.found}
    made = []
    for row in facts.maps.found:
        if row.cells:
            of = cached.get((row.oid, row.fork))
            both = of.both_bytes if of else None
            text = f"{known(both, size)} cached twice, {share_of(both, of.distinct if of else None)} of what is cached"
            if any(cell.os_blocks is None for cell in row.cells):
                text = "What the page cache holds is unknown; the map shows shared_buffers alone"
            made.append(
                Blocks(f"{row}, {size(row.bytes)}", text, steps(layers(row.cells), f"Map of {row}: {text}"), both)
            )
    return tuple(sorted(made, key=lambda each: -(each.both or 0)))


def both(facts: Facts) -> Part:
    total = facts.database
    found = sorted((row for row in facts.caches.found if row.oid is not None), key=lambda row: -(row.both_bytes or 0))
    made = table(
        "Relations of this database, most bytes cached twice first",
        ["Relation", "Cached twice", "Share of what is cached", "shared_buffers", "Page cache", "Size"],
        [
            (
                str(row),
                sized(row.both_bytes, row.both_bytes_low, row.both_bytes_high),
                share_of(row.both_bytes, row.distinct),
                known(row.shared_bytes, size),
                known(row.os_bytes, size),
                known(row.bytes, size),
            )
            for row in found
        ],
        long=True,
    )
    text = "What the page cache holds of this database is unknown."
    if total and total.both_bytes is not None:
        twice = sized(total.both_bytes, total.both_bytes_low, total.both_bytes_high)
        share = share_of(total.both_bytes, total.distinct)
        text = f"Of this database, shared_buffers hold {known(total.shared_bytes, size)}, the page cache "
        text += f"{known(total.os_bytes, size)}. Cached twice: {twice}, {share} of what is cached."
    missing = joined(facts.caches.why, facts.maps.why)
    return Part("caches", "Both caches", (text,), missing, maps=maps(facts), tables=tables(made), folded=True)


def pool(facts: Facts) -> Part:
    made = table(
        "Relations of all databases, most bytes at usage count 0 first",
        [
            "Relation",
            "Unused since the last pass",
            "Share of its pages",
            "In shared_buffers",
            "Dirty",
            "Average usage count",
            "An unused page stays",
        ],
        [
            (
                str(row),
                known(row.idle_bytes, size),
                share_of(row.idle_bytes, row.bytes),
                sized(row.bytes, row.bytes_low, row.bytes_high),
                size(row.dirty_bytes),
                known(row.usagecount_avg, figure),
                known(row.stay_seconds, duration),
            )
            for row in sorted(facts.pool.found, key=lambda row: -(row.idle_bytes or 0))
            if sized(row.bytes, row.bytes_low, row.bytes_high) != UNKNOWN
        ],
        long=True,
    )
    return Part("pool", "What the pool holds", unknown=facts.pool.why, tables=tables(made), folded=True)
