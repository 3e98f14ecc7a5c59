"""The page that compares two reports about one server, before and after a change of the size."""

from __future__ import annotations

from collections.abc import Callable

from pgbufprobe_page import Chart
from pgbufprobe_page.charts import Axis, Series, curve
from pgbufprobe_page.formatting import MISSING, number, percent, size
from pgbufprobe_report import decision, page
from pgbufprobe_report.decision import READS, WAITS
from pgbufprobe_report.facts import Answer, Cached, Prediction, Ratios, Report, Word
from pgbufprobe_report.view import UNKNOWN, Part, interval, known, moment, share_of, table, tables

HELD = {True: "The prediction held.", False: "The prediction did not hold."}


def warnings(before: Report, after: Report) -> str:
    """Returns why the two reports may not be comparable."""
    found = []
    if before.server.system_identifier != after.server.system_identifier:
        found.append("These are reports about different servers.")
    if before.server.database_oid != after.server.database_oid:
        found.append("These are reports about different databases; both caches are those of the database.")
    if before.taken_at > after.taken_at:
        found.append("The first report is later than the second.")
    return " ".join(found)


def predicted(before: Report, after: Report) -> Ratios | None:
    """Returns the prediction for the size after, with what was measured; without one, what the first report says."""
    sizes = (before.server.shared_buffers_bytes, after.server.shared_buffers_bytes)
    for prediction in after.facts.predictions.found:
        if (prediction.from_bytes, prediction.to_bytes) == sizes:
            return prediction
    return next((row for row in before.facts.sizes.found if row.shared_buffers_bytes == sizes[1]), None)


def held(row: Ratios | None) -> str:
    return HELD.get(row.held, "") if isinstance(row, Prediction) and row.held is not None else ""


def today(report: Report, series: str) -> float | None:
    row = report.facts.today
    return decision.ratio(row, series)[0] if row else None


def headline(before: Report, after: Report) -> Answer:
    """Returns in a sentence what the change did."""
    one, two = (report.server.shared_buffers_bytes for report in (before, after))
    sizes = f"From {size(one)} to {size(two)}" if one != two else f"At {size(one)} both times"
    verdict, text = UNKNOWN, f"{sizes}: which block accesses are reads was unknown."
    for series, what in ((READS, "are reads"), (WAITS, "wait for storage")):
        was, now = today(before, series), today(after, series)
        if was is not None and now is not None:
            text = f"{sizes}: {percent(now)} of block accesses {what}, instead of {percent(was)}."
            verdict = "fine" if now <= was else "consider"
        elif now is not None and verdict == UNKNOWN:
            text = f"{sizes}: {percent(now)} of block accesses {what}; before, that was unknown."
    text = f"{text} {held(predicted(before, after))}".rstrip()
    return Answer("size", "What did the change do?", text, None, Word(verdict), None)


Figure = tuple[str, Callable[[float], str], float | None]


def others(names: list[str], what: str) -> tuple[str, ...]:
    """Returns a line about what has no row of its own."""
    return (f"{what}: {'; '.join(names)}.",) if names else ()


def key_figures(report: Report) -> list[Figure]:
    facts = report.facts
    total = facts.database
    now, clock, decided = facts.today, next(iter(facts.clock.found), None), facts.decided
    victims = next((row for row in facts.victims.found if row.scenario == "current"), None)
    return [
        ("shared_buffers", size, report.server.shared_buffers_bytes),
        ("Advised size", size, decided.advised_bytes if decided else None),
        ("Block accesses that are reads", percent, now.estd_miss_ratio if now else None),
        ("Block accesses that wait for storage", percent, now.estd_storage_ratio if now else None),
        ("Waiting for reads, ms per second", number, now.estd_read_ms_per_second if now else None),
        ("This database in shared_buffers", size, total.shared_bytes if total else None),
        ("This database in the page cache", size, total.os_bytes if total else None),
        ("Cached twice", size, total.both_bytes if total else None),
        ("A pass of the clock hand, s", number, clock.seconds_per_pass if clock else None),
        ("Buffers inspected for each allocation", number, clock.inspected_per_allocation if clock else None),
        ("A search for a buffer to evict, median, µs", number, victims.p50_us if victims else None),
        ("Dirty among the next victims", number, victims.dirty_victims if victims else None),
    ]


def figures(before: Report, after: Report) -> Part:
    """Returns the key figures at both times."""
    rows: list[tuple[str, ...]] = []
    same: list[str] = []
    unknown: list[str] = []
    for (name, form, one), (_, _, two) in zip(key_figures(before), key_figures(after), strict=True):
        if one == two:
            (unknown if one is None else same).append(name)
            continue
        change = MISSING if one is None or two is None else f"× {two / one:.3g}" if one else "from 0"
        rows.append((name, known(one, form), known(two, form), change))
    columns = [("Figure", False), ("Before", True), ("After", True), ("Change", True)]
    made = tables(table("Figures", columns, rows))
    about = others(same, "The same both times") + others(unknown, "Unknown both times")
    return Part("figures", "Before and after", unknown=warnings(before, after), tables=made, after=about)


def curves(before: Report, after: Report) -> Part:
    """Returns both curves in one chart, and what had been predicted for the new size."""
    both = {"before": before, "after": after}
    sizes = [report.facts.sizes.found for report in both.values()]
    kind = WAITS if all(decision.points(rows, WAITS) for rows in sizes) else READS
    points = [point for rows, name in zip(sizes, both, strict=True) for point in decision.points(rows, kind, name)]
    charts: tuple[Chart, ...] = ()
    if {point["series"] for point in points} == set(both):
        shown = tuple(sorted({point["x"] for point in points}))
        bytes_of = {name: report.server.shared_buffers_bytes for name, report in both.items()}
        marks = {f"{name}: {size(count)}": float(count) for name, count in bytes_of.items()}
        x, y = Axis("shared_buffers", sizes=shown), Axis("% of block accesses")
        spec = curve(points, x, y, Series(tuple(both)), marks)
        title = f"Block accesses that are {kind}"
        charts = (Chart(title, "Bands are 95 % intervals.", spec, wide=True, name="chart-curve"),)
    row = predicted(before, after)
    rows = []
    for series, name in ((READS, "that are reads"), (WAITS, "that wait for storage")):
        ratio = decision.ratio(row, series) if row else (None, None, None)
        found = measured(row, after, series)
        if ratio[0] is not None or found is not None:
            rows.append((name, interval(*ratio), known(found, percent)))
    columns = [("Share of block accesses", False), ("Predicted", True), ("Measured", True)]
    made = tables(table("What was predicted for the size after", columns, rows))
    note = f"{row.note}." if row and row.note else ""
    unknown = "" if charts else "The curve was unknown in at least one of the reports."
    after_text = tuple(filter(None, (held(row), note)))
    return Part("curves", "Prediction and measurement", unknown=unknown, charts=charts, tables=made, after=after_text)


def measured(row: Ratios | None, after: Report, series: str) -> float | None:
    """Returns what was measured for a prediction; without one, the ratio of today."""
    if isinstance(row, Prediction):
        return row.measured_miss_ratio if series == READS else row.measured_storage_ratio
    return today(after, series)


def answers(before: Report, after: Report) -> Part:
    rows, same = [], []
    for new in after.facts.checkup.found:
        old = before.facts.answer(new.key)
        was, said = (old.word, old.answer) if old else (UNKNOWN, UNKNOWN)
        if (was, said) == (new.word, new.answer):
            same.append(new.question)
        else:
            rows.append((new.question, was, new.word, said, new.answer))
    columns = [(name, False) for name in ("Question", "Before", "After", "Answer before", "Answer after")]
    made = tables(table("Verdicts", columns, rows))
    text = (f"{number(len(same))} answers are the same both times.",) if same else ()
    return Part("checkup", "All answers", unknown=after.facts.checkup.why, tables=made, after=text)


def relations(before: Report, after: Report) -> Part:
    """Returns what both caches hold of the relations of either report."""
    old, new = ({str(row): row for row in r.facts.caches.found if row.oid is not None} for r in (before, after))
    latest = {**old, **new}

    def at(rows: dict[str, Cached], name: str, value: Callable[[Cached], int | None]) -> str:
        return known(value(rows[name]), size) if name in rows else "not among the largest"

    rows = [
        (
            name,
            at(old, name, lambda row: row.both_bytes),
            at(new, name, lambda row: row.both_bytes),
            at(old, name, lambda row: row.shared_bytes),
            at(new, name, lambda row: row.shared_bytes),
        )
        for name in sorted(latest, key=lambda name: -(latest[name].both_bytes or 0))
    ]
    changed = [row for row in rows if row[1] != row[2] or row[3] != row[4]]
    same = len(rows) - len(changed)
    columns = [("Relation", False), ("Cached twice, before", True), ("After", True)]
    columns += [("In shared_buffers, before", True), ("After", True)]
    made = tables(table("Relations of this database, most bytes cached twice first", columns, changed))
    totals = [report.facts.database for report in (before, after)]
    shares = " and ".join(share_of(t.both_bytes, t.shared_bytes) if t else UNKNOWN for t in totals)
    text = (f"Of the pages of this database in shared_buffers, {shares} were also in the page cache.",) if rows else ()
    about = (f"Of {number(same)} relations, both caches hold the same.",) if same else ()
    return Part("caches", "Both caches", text, tables=made, after=about)


def render(before: Report, after: Report, bundle: str = "") -> str:
    about = f"Before: {moment(before.taken_at)}. After: {moment(after.taken_at)}."
    parts = tuple(make(before, after) for make in (curves, figures, answers, relations))
    return page.show(f"{page.title(after)}, before and after", headline(before, after), (), parts, bundle, about)
