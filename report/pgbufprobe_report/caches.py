"""The parts about what both caches hold: as a bar, as maps and as tables, all sorted by what is wasted."""

from __future__ import annotations

from pgbufprobe_lab.formatting import number, size
from pgbufprobe_lab.pages import Chart
from pgbufprobe_lab.pages.charts import Axis, Series, stacks

from pgbufprobe_report.view import MB, Facts, Part, Row, known, label, share_of, table, tables, with_error

SHARED, BOTH, OS = "only in shared_buffers", "in both caches", "only in the page cache"


def distinct(row: Row) -> int | None:
    """Returns the bytes that are in any cache."""
    if None in (row["shared_bytes"], row["os_bytes"], row["both_bytes"]):
        return None
    return row["shared_bytes"] + row["os_bytes"] - row["both_bytes"]


def both_chart(row: Row) -> tuple[Chart, ...]:
    whole = distinct(row)
    if not whole:
        return ()
    both = row["both_bytes"]
    sizes = {SHARED: row["shared_bytes"] - both, BOTH: both, OS: row["os_bytes"] - both}
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


def cell(row: Row) -> str:
    """Returns the upper ends of the states of a range of blocks, as CSS. What is unknown is in neither cache."""
    shared, os, both = row["shared_blocks"] or 0, row["os_blocks"] or 0, row["both_blocks"] or 0
    ends = (both, shared, shared + os - both)
    return ";".join(f"--{name}:{100 * end / row['blocks']:.0f}%" for name, end in zip("bso", ends, strict=True))


def maps(facts: Facts) -> tuple[Row, ...]:
    """Returns the maps of the largest relations, most wasted first."""
    wasted = {(row["oid"], row["fork"]): row for row in facts.rows("caches")}
    made = []
    for row in facts.rows("maps"):
        of = wasted.get((row["oid"], row["fork"]), {})
        both = of.get("both_bytes")
        text = f"{known(both, size)} cached twice, {share_of(both, distinct(of) if of else None)} of what is cached"
        cells = [cell(each) for each in row["cells"] or []]
        unknown = f"The map is unknown: {row['unknown']}." if row["unknown"] else ""
        if any(each["os_blocks"] is None for each in row["cells"] or []):
            unknown = "What the page cache holds is unknown; the map shows shared_buffers alone."
        made.append(
            {
                "title": f"{label(row)}, {size(row['bytes'])}",
                "text": text,
                "cells": cells,
                "unknown": unknown,
                "both": both,
            }
        )
    return tuple(sorted(made, key=lambda each: -(each["both"] or 0)))


def both(facts: Facts) -> Part:
    rows = facts.rows("caches")
    total = next((row for row in rows if row["oid"] is None), None)
    found = sorted((row for row in rows if row["oid"] is not None), key=lambda row: -(row["both_bytes"] or 0))
    columns = [("Relation", False), ("Cached twice", True), ("Share of what is cached", True)]
    columns += [("shared_buffers", True), ("Page cache", True), ("Size", True)]
    made = table(
        "Relations of this database, most bytes cached twice first",
        columns,
        [
            (
                label(row),
                with_error(row["both_bytes"], row["both_bytes_error"]),
                share_of(row["both_bytes"], distinct(row)),
                *(known(row[name], size) for name in ("shared_bytes", "os_bytes", "bytes")),
            )
            for row in found
        ],
        long=True,
    )
    text = ()
    if total and not total["trustworthy"]:
        text = ("What the page cache holds of this database is unknown for at least one file.",)
    missing = " ".join(t for t in (facts.why("caches"), facts.why("maps")) if t)
    charts = both_chart(total) if total else ()
    return Part("caches", "Both caches", text, missing, charts=charts, maps=maps(facts), tables=tables(made))


def pool(facts: Facts) -> Part:
    columns = [("Relation", False), ("Unused since the last pass", True), ("Share of its pages", True)]
    columns += [("In shared_buffers", True), ("Dirty", True), ("Average usage count", True)]
    rows = sorted(facts.rows("pool"), key=lambda row: -(row["idle_bytes"] or 0))
    made = table(
        "Relations of all databases, most bytes at usage count 0 first",
        columns,
        [
            (
                label(row),
                known(row["idle_bytes"], size),
                share_of(row["idle_bytes"], row["bytes"]),
                with_error(row["bytes"], row["bytes_error"]),
                known(row["dirty_bytes"], size),
                known(row["usagecount_avg"], number),
            )
            for row in rows
        ],
        long=True,
    )
    return Part("pool", "What the pool holds", unknown=facts.why("pool"), tables=tables(made))
