"""The page that compares two reports about one server, before and after a change of the size."""

from __future__ import annotations

from collections.abc import Callable

from pgbufprobe_page import Picture
from pgbufprobe_page.formatting import MISSING, number, size
from pgbufprobe_page.svg import Line
from pgbufprobe_report import decision, page
from pgbufprobe_report.decision import KINDS, READS, STORAGE, WAITING, Kind
from pgbufprobe_report.details import foretold, outcome
from pgbufprobe_report.facts import VICTIMS, Answer, Cached, Prediction, Ratios, Report, Word
from pgbufprobe_report.view import (
    UNKNOWN,
    Part,
    figure,
    interval,
    known,
    milliseconds,
    moment,
    share_of,
    table,
    tables,
)

MEASURED = {STORAGE: "measured_storage_ratio", READS: "measured_miss_ratio"}


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


def today(report: Report, kind: Kind) -> float | None:
    row = report.facts.today
    return kind.values(row)[0] if row else None


def done(before: Report, after: Report) -> str:
    """Returns in a sentence what the change did."""
    one, two = (report.server.shared_buffers_bytes for report in (before, after))
    sizes = f"From {size(one)} to {size(two)}" if one != two else f"At {size(one)} both times"
    for kind, what in ((WAITING, "of waiting in each second"), (STORAGE, "wait for storage"), (READS, "are reads")):
        was, now = today(before, kind), today(after, kind)
        if now is not None:
            then = "before, that was unknown" if was is None else f"before, {kind.form(was)}"
            of = "" if kind is WAITING else "of block accesses "
            return f"{sizes}: {kind.form(now)} {of}{what}; {then}"
    return f"{sizes}: what it did is unknown"


def headline(before: Report, after: Report) -> Answer:
    """Returns whether the prediction held; without one, what the change did."""
    row = predicted(before, after)
    if not isinstance(row, Prediction):
        return Answer("size", Word(UNKNOWN), done(before, after), None)
    verdict = UNKNOWN if row.held is None else "fine" if row.held else "consider"
    return Answer("size", Word(verdict), outcome(row), None)


def lines(before: Report, after: Report) -> tuple[tuple[str, str], ...]:
    """Returns what the change did below a headline about its prediction."""
    row = predicted(before, after)
    if not isinstance(row, Prediction):
        return ()
    return (("Predicted", f"{foretold(row).title}, in {foretold(row).unit}"), ("What changed", done(before, after)))


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
        ("Waiting for reads, per second", milliseconds, now.read_ms_per_second if now else None),
        ("Block accesses that wait for storage", interval, now.storage_ratio if now else None),
        ("Block accesses that are reads", interval, now.miss_ratio if now else None),
        ("This database in shared_buffers", size, total.shared_bytes if total else None),
        ("This database in the page cache", size, total.os_bytes if total else None),
        ("Cached twice", size, total.both_bytes if total else None),
        ("A pass of the clock hand, s", figure, clock.seconds_per_pass if clock else None),
        ("Buffers inspected for each allocation", figure, clock.inspected_per_allocation if clock else None),
        ("A search for a buffer to evict, µs", figure, victims.avg_us if victims else None),
        (f"Dirty among the next {number(VICTIMS)} victims", number, victims.dirty_victims if victims else None),
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
        change = MISSING if one is None or two is None else f"× {figure(two / one)}" if one else "from 0"
        rows.append((name, known(one, form), known(two, form), change))
    columns = ["Figure", "Before", "After", "Change"]
    made = tables(table("Figures", columns, rows, long=True))
    about = others(same, "The same both times") + others(unknown, "Unknown both times")
    return Part("figures", "Before and after", unknown=warnings(before, after), tables=made, after=about)


def chart(before: Report, after: Report) -> tuple[Picture, ...]:
    """Returns both curves in one chart, of what is known both times."""
    both = {"before": before, "after": after}
    for kind in KINDS:
        found = {name: decision.points(report.facts.sizes.found, kind) for name, report in both.items()}
        if all(len(points) > 1 for points in found.values()):
            lines = [Line(name, colour, found[name]) for name, colour in zip(both, ("c1", "c2"), strict=True)]
            sizes: dict[str, int | None] = {name: report.server.shared_buffers_bytes for name, report in both.items()}
            return (decision.picture(lines, kind, decision.markers(sizes), wide=True),)
    return ()


def curves(before: Report, after: Report) -> Part:
    """Returns both curves, and what had been predicted for the new size."""
    charts = chart(before, after)
    row = predicted(before, after)
    rows = []
    for kind, column in MEASURED.items():
        values = kind.values(row) if row else (None, None, None)
        found = getattr(row, column) if isinstance(row, Prediction) else today(after, kind)
        if values[0] is not None or found is not None:
            rows.append((kind.title, kind.form(*values), kind.form(found)))
    columns = ["Share of block accesses", "Predicted", "Measured"]
    made = tables(table("What was predicted for the size after", columns, rows))
    note = (f"{row.note}.",) if row and row.note else ()
    unknown = "" if charts else "The curve was unknown in at least one of the reports."
    return Part("curves", "Prediction and measurement", unknown=unknown, charts=charts, tables=made, after=note)


def answers(before: Report, after: Report) -> Part:
    rows, same = [], []
    for new in after.facts.checkup.found:
        old = before.facts.answer(new.topic)
        was, said = (old.word, old.answer) if old else (UNKNOWN, UNKNOWN)
        if (was, said) == (new.word, new.answer):
            same.append(new.topic)
        else:
            rows.append((new.topic, was, new.word, said, new.answer))
    columns = ["Topic", "Before", "After", "Answer before", "Answer after"]
    made = tables(table("Verdicts", columns, rows, words=columns))
    about = others(same, "The same both times")
    return Part("checkup", "All answers", unknown=after.facts.checkup.why, tables=made, after=about)


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
    columns = ["Relation", "Cached twice, before", "After", "In shared_buffers, before", "After"]
    made = tables(table("Relations of this database, most bytes cached twice first", columns, changed))
    totals = [report.facts.database for report in (before, after)]
    shares = " and ".join(share_of(t.both_bytes, t.shared_bytes) if t else UNKNOWN for t in totals)
    text = (f"Of the pages of this database in shared_buffers, {shares} were also in the page cache.",) if rows else ()
    about = (f"Of {number(same)} relations, both caches hold the same.",) if same else ()
    return Part("caches", "Both caches", text, tables=made, after=about, folded=True)


def render(before: Report, after: Report) -> str:
    about = f"Before: {moment(before.taken_at)}. After: {moment(after.taken_at)}."
    parts = tuple(make(before, after) for make in (curves, figures, answers, relations))
    name = f"{page.title(after)}, before and after"
    return page.show(name, headline(before, after), lines(before, after), parts, about)
