"""The page that compares two reports about one server, before and after a change of the size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pgbufprobe_lab.formatting import number, percent, size
from pgbufprobe_lab.pages import Chart
from pgbufprobe_lab.pages.charts import Axis, Series, curve

from pgbufprobe_report import decision, page
from pgbufprobe_report.view import UNKNOWN, Facts, Part, Row, interval, known, label, moment, share_of, table, tables


def today(facts: Facts) -> Row:
    return next((row for row in facts.rows("sizes") if row["size_factor"] == 1), {})


def total(facts: Facts) -> Row:
    return next((row for row in facts.rows("caches") if row["oid"] is None), {})


def victims(facts: Facts) -> Row:
    return next((row for row in facts.rows("victims") if row["scenario"] == "current"), {})


def warnings(before: Facts, after: Facts) -> str:
    """Returns why the two reports may not be comparable."""
    found = []
    if before.server["system_identifier"] != after.server["system_identifier"]:
        found.append("These are reports about different servers.")
    if before.server["database_oid"] != after.server["database_oid"]:
        found.append("These are reports about different databases; both caches are those of the database.")
    if before.data["taken_at"] > after.data["taken_at"]:
        found.append("The first report is later than the second.")
    return " ".join(found)


def predicted(before: Facts, after: Facts) -> Row:
    """Returns the prediction for the size after, with what was measured; without one, what the first report says."""
    sizes = (before.server["shared_buffers_bytes"], after.server["shared_buffers_bytes"])
    for row in after.rows("predictions"):
        if (row["from_bytes"], row["to_bytes"]) == sizes:
            return row
    return next((row for row in before.rows("sizes") if row["shared_buffers_bytes"] == sizes[1]), {})


def headline(before: Facts, after: Facts) -> Row:
    """Returns in a sentence what the change did."""
    one, two = (facts.server["shared_buffers_bytes"] for facts in (before, after))
    sizes = f"From {size(one)} to {size(two)}" if one != two else f"At {size(one)} both times"
    ratios = [today(facts).get("estd_storage_ratio") for facts in (before, after)]
    what = "wait for storage"
    if None in ratios:
        ratios, what = [today(facts).get("estd_miss_ratio") for facts in (before, after)], "are reads"
    verdict, text = UNKNOWN, f"{sizes}: which block accesses are reads was unknown."
    if None not in ratios:
        text = f"{sizes}: {percent(ratios[1])} of block accesses {what}, instead of {percent(ratios[0])}."
        verdict = "fine" if ratios[1] <= ratios[0] else "look"
    held = predicted(before, after).get("held")
    if held is not None:
        text += " The prediction held." if held else " The prediction did not hold."
    return {"question": "What did the change do?", "answer": text, "verdict": verdict, "action": None}


def figures(before: Facts, after: Facts) -> Part:
    """Returns the key figures at both times."""

    def both(
        name: str, value: Callable[[Facts], Any], form: Callable[[Any], str] = number
    ) -> tuple[str, str, str, str]:
        one, two = value(before), value(after)
        change = UNKNOWN if one is None or two is None else f"× {two / one:.3g}" if one else "from 0" if two else "none"
        return (name, known(one, form), known(two, form), change)

    def of(part: Callable[[Facts], Row], key: str) -> Callable[[Facts], Any]:
        return lambda facts: part(facts).get(key)

    def clock(facts: Facts) -> Row:
        return facts.first("clock")

    rows = [
        both("shared_buffers", lambda facts: facts.server["shared_buffers_bytes"], size),
        both("Block accesses that are reads", of(today, "estd_miss_ratio"), percent),
        both("Block accesses that wait for storage", of(today, "estd_storage_ratio"), percent),
        both("Waiting for reads, ms per second", of(today, "estd_read_ms_per_second")),
        both("This database in shared_buffers", of(total, "shared_bytes"), size),
        both("This database in the page cache", of(total, "os_bytes"), size),
        both("Cached twice", of(total, "both_bytes"), size),
        both("A pass of the clock hand, s", of(clock, "seconds_per_pass")),
        both("Buffers inspected for each allocation", of(clock, "inspected_per_allocation")),
        both("A search for a buffer to evict, median, µs", of(victims, "p50_us")),
        both("Dirty among the next victims", of(victims, "dirty_victims")),
    ]
    columns = [("Figure", False), ("Before", True), ("After", True), ("Change", True)]
    return Part(
        "figures", "Before and after", unknown=warnings(before, after), tables=(table("Figures", columns, rows),)
    )


def curves(before: Facts, after: Facts) -> Part:
    """Returns both curves in one chart, and what had been predicted for the new size."""
    kind = (
        decision.WAITS
        if all(decision.points(f.rows("sizes"), decision.WAITS) for f in (before, after))
        else decision.READS
    )
    names = ("before", "after")
    points = [
        p for f, name in zip((before, after), names, strict=True) for p in decision.points(f.rows("sizes"), kind, name)
    ]
    charts: tuple[Chart, ...] = ()
    if {point["series"] for point in points} == set(names):
        shown = tuple(sorted({point["x"] for point in points}))
        marks = {
            f"{name}: {size(f.server['shared_buffers_bytes'])}": f.server["shared_buffers_bytes"]
            for f, name in zip((before, after), names, strict=True)
        }
        spec = curve(points, Axis("shared_buffers", sizes=shown), Axis("% of block accesses"), Series(names), marks)
        charts = (
            Chart(f"Block accesses that are {kind}", "Bands are 95 % intervals.", spec, wide=True, name="chart-curve"),
        )
    row = predicted(before, after)
    now = today(after)
    columns = [("Share of block accesses", False), ("Predicted", True), ("Measured", True)]
    rows = [
        (
            name,
            interval(row, f"estd_{ratio}", ratio),
            known(row.get(f"measured_{ratio}", now.get(f"estd_{ratio}")), percent),
        )
        for name, ratio in (("that are reads", "miss_ratio"), ("that wait for storage", "storage_ratio"))
    ]
    held = {True: "The prediction held.", False: "The prediction did not hold."}.get(row.get("held"), "")
    note = f"{row['note']}." if row.get("note") else ""
    after_text = tuple(t for t in (held, note) if t)
    made = table("What was predicted for the size after", columns, rows)
    unknown = "" if charts else "The curve was unknown in at least one of the reports."
    return Part(
        "curves", "Prediction and measurement", unknown=unknown, charts=charts, tables=(made,), after=after_text
    )


def answers(before: Facts, after: Facts) -> Part:
    old = {row["key"]: row for row in before.rows("checkup")}
    rows = [
        (
            row["question"],
            old.get(row["key"], {}).get("verdict", UNKNOWN),
            row["verdict"],
            old.get(row["key"], {}).get("answer", UNKNOWN),
            row["answer"],
        )
        for row in after.rows("checkup")
    ]
    columns = [(name, False) for name in ("Question", "Before", "After", "Answer before", "Answer after")]
    return Part(
        "checkup", "Seven answers", unknown=after.why("checkup"), tables=tables(table("Verdicts", columns, rows))
    )


def relations(before: Facts, after: Facts) -> Part:
    """Returns what both caches hold of the relations of either report."""
    old, new = (
        {label(row): row for row in facts.rows("caches") if row["oid"] is not None} for facts in (before, after)
    )
    names = sorted({**old, **new}, key=lambda name: -(new.get(name, old.get(name, {}))["both_bytes"] or 0))

    def at(rows: dict[str, Row], name: str, key: str) -> str:
        return known(rows[name][key], size) if name in rows else "not among the largest"

    rows = [
        (
            name,
            at(old, name, "both_bytes"),
            at(new, name, "both_bytes"),
            at(old, name, "shared_bytes"),
            at(new, name, "shared_bytes"),
        )
        for name in names
    ]
    columns = [("Relation", False), ("Cached twice, before", True), ("After", True)]
    columns += [("In shared_buffers, before", True), ("After", True)]
    made = tables(table("Relations of this database, most bytes cached twice first", columns, rows))
    shares = " and ".join(share_of(total(f).get("both_bytes"), total(f).get("shared_bytes")) for f in (before, after))
    text = (f"Of the pages of this database in shared_buffers, {shares} were also in the page cache.",) if made else ()
    return Part("caches", "Both caches", text, tables=made)


def render(one: dict[str, Any], two: dict[str, Any], bundle: str = "") -> str:
    before, after = Facts(one), Facts(two)
    about = f"Before: {moment(one['taken_at'])}. After: {moment(two['taken_at'])}."
    parts = tuple(make(before, after) for make in (curves, figures, answers, relations))
    return page.show(f"{page.title(after)}, before and after", headline(before, after), parts, bundle, about=about)
