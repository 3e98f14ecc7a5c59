"""The parts below the decision."""

from __future__ import annotations

from datetime import datetime

from pgbufprobe_page import Legend, Picture
from pgbufprobe_page.formatting import duration, number, size
from pgbufprobe_page.svg import SMALL, Axis, Line, Point, areas, curve
from pgbufprobe_report import caches
from pgbufprobe_report.decision import READS, STORAGE, Kind
from pgbufprobe_report.facts import VICTIMS, Facts, Prediction, Report
from pgbufprobe_report.view import (
    UNKNOWN,
    Part,
    certain,
    figure,
    interval,
    joined,
    known,
    measured,
    moment,
    said,
    share_of,
    sized,
    table,
    tables,
)

UNUSED = "unused"
MINUTES = Axis("minutes before this report")
SCANS = {
    "read": "reading each",
    "lock": "locking each, as a checkpoint does",
    "match": "matching each, as DROP and TRUNCATE do",
}


def answers(facts: Facts) -> Part:
    return Part("checkup", "All answers", unknown=facts.checkup.why, answers=tuple(facts.checkup.found))


def ago(then: str, report: Report) -> float:
    """Returns the minutes from the report to a time: negative, because it was before."""
    taken, now = (datetime.fromisoformat(text) for text in (then, report.taken_at))
    return round((taken - now).total_seconds() / 60, 2)


def usage_chart(report: Report) -> tuple[Picture, ...]:
    """Returns how the buffers in use were divided; samples may be those of a pool of another size."""
    samples = report.facts.history.found
    if len(samples) < 2:
        return ()
    levels = range(len(samples[0].usagecounts))
    rows = [(ago(row.taken_at, report), row.usagecounts) for row in samples]
    colours = [f"s{min(level, 5)}" for level in levels]
    drawn = areas(colours, rows, MINUTES, "% of the buffers in use", "Usage counts over time")
    names = Legend(tuple((str(level), colour) for level, colour in zip(levels, colours, strict=True)))
    return (Picture("Usage counts over time", "From the history of the sampler.", (drawn,), names),)


def usage(report: Report) -> Part:
    facts, block = report.facts, report.server.block_bytes
    whole = sum(row.buffers for row in facts.usage.found)
    made = table(
        "Buffers at each usage count; the clock hand evicts pages whose usage count is 0",
        ["Usage count", "Size", "Share", "Dirty"],
        [
            (
                UNUSED if row.usagecount is None else str(row.usagecount),
                sized(*(count * block for count in (row.buffers, row.buffers_low, row.buffers_high))),
                share_of(row.buffers, whole),
                size(row.dirty * block),
            )
            for row in facts.usage.found
        ],
        long=True,
    )
    missing = joined(facts.usage.why, facts.history.why)
    return Part("usage", "Usage counts", unknown=missing, charts=usage_chart(report), tables=tables(made), folded=True)


def clock_chart(report: Report) -> tuple[Picture, ...]:
    found = [(ago(row.taken_at, report), row.seconds_per_pass) for row in report.facts.history.found]
    points = [Point(x, y) for x, y in found if y is not None]
    if len(points) < 2:
        return ()
    title = "Seconds for each pass of the clock hand"
    drawn = curve([Line(title, "c1", points)], MINUTES, "s", {}, title, SMALL)
    return (Picture(title, "From the history of the sampler.", (drawn,), Legend()),)


def clock(report: Report) -> Part:
    facts = report.facts
    pairs: tuple[tuple[str, str], ...] = ()
    for row in facts.clock.found:
        inspected = known(row.inspected_per_allocation, lambda count: f"{figure(count)} buffers")
        pairs = (
            ("Position", f"{share_of(row.hand, row.buffers)} of the pool, after {number(row.passes)} passes"),
            (
                "A pass takes",
                "the hand did not move" if row.seconds_per_pass is None else duration(row.seconds_per_pass),
            ),
            ("Inspected for each allocation", inspected),
            ("Allocations", measured(row.allocations_per_second, "per second")),
        )
    return Part("clock", "Clock hand", unknown=facts.clock.why, pairs=pairs, charts=clock_chart(report), folded=True)


def costs(facts: Facts) -> Part:
    victims = table(
        "Searches for a buffer to evict, replayed without changing anything",
        ["Usage counts", "Average", "99 %", "Longest", "Inspected for each", "Dirty victims", "A whole pass"],
        [
            (
                {"current": "as now", "worst": "all at the highest"}.get(row.scenario, row.scenario),
                *(measured(us, "µs") for us in (row.avg_us, row.p99_us, row.max_us)),
                figure(row.inspected / VICTIMS),
                f"{number(row.dirty_victims)} of {number(VICTIMS)}",
                measured(row.ms_per_pass, "ms"),
            )
            for row in facts.victims.found
        ],
    )
    scans = table(
        "Scans of all buffer descriptors",
        ["Scan", "Fastest", "Slowest"],
        [
            (SCANS.get(row.method, row.method), *(measured(ms, "ms") for ms in (row.min_ms, row.max_ms)))
            for row in facts.scans.found
        ],
    )
    missing = joined(facts.victims.why, facts.scans.why)
    return Part("costs", "Victims and scans", unknown=missing, tables=tables(victims, scans), folded=True)


def gains(report: Report) -> Part:
    facts, block = report.facts, report.server.block_bytes

    def read(*blocks: float | None) -> str:
        return sized(*(None if count is None else count * block for count in blocks))

    rows = [
        (
            str(row),
            read(row.reads_saved, row.reads_saved_low, row.reads_saved_high),
            read(row.storage_reads_saved, row.storage_reads_saved_low, row.storage_reads_saved_high),
            read(row.reads_added, row.reads_added_low, row.reads_added_high),
            interval(row.read_fraction),
            sized(row.working_set_bytes, row.working_set_bytes_low, row.working_set_bytes_high),
        )
        for row in sorted(facts.gains.found, key=lambda row: -(row.reads_saved or 0))
    ]
    rows = [row for row in rows if set(row[1:4]) != {UNKNOWN}]
    made = table(
        "Relations with the most reads, and what other sizes would change",
        [
            "Relation",
            "Twice the size would save",
            "Of these, storage reads",
            "Half the size would add",
            "Share of all reads",
            "Working set",
        ],
        rows,
        long=True,
    )
    # While nothing is known, the notes say why.
    about = [row for row in facts.gains.found if not rows or str(row) in {name for name, *_ in rows}]
    notes = said([(str(row), row.note) for row in about], "All relations")
    text = ("Storage reads may be negative: a larger pool leaves less to the page cache.",)
    shown = tables(made)
    return Part("gains", "Who gains", text if shown else (), facts.gains.why, tables=shown, after=notes, folded=True)


def foretold(row: Prediction) -> Kind:
    """Returns what a prediction was about: storage reads if it was certain of these."""
    return STORAGE if row.measured_storage_ratio is not None and certain(*STORAGE.values(row)) else READS


def outcome(row: Prediction) -> str:
    """Returns what was predicted beside what was measured."""
    kind = foretold(row)
    predicted = kind.values(row)[0]
    measured = row.measured_storage_ratio if kind is STORAGE else row.measured_miss_ratio
    if measured is None or predicted is None:
        return "Not measured yet" if row.held is None else {True: "Held", False: "Did not hold"}[row.held]
    word = {True: "Held", False: "Did not hold", None: "Undecided"}[row.held]
    return f"{word}: {interval(predicted)} predicted, {interval(measured)} measured"


def predictions(facts: Facts) -> Part:
    rows = facts.predictions.found
    made = table(
        "Predictions before restarts with another size, newest first",
        [
            "Made",
            "Sizes",
            "Outcome",
            "Reads predicted",
            "Reads measured",
            "Storage reads predicted",
            "Storage reads measured",
            "Note",
        ],
        [
            (
                moment(row.made_at),
                f"{size(row.from_bytes)} to {size(row.to_bytes)}",
                outcome(row).split(":")[0],
                READS.cell(row),
                interval(row.measured_miss_ratio),
                STORAGE.cell(row),
                interval(row.measured_storage_ratio),
                row.note or "",
            )
            for row in rows
        ],
        words=("Sizes", "Outcome", "Note"),
    )
    missing = facts.predictions.why
    text = () if rows or missing else ("The server has not been restarted with another size.",)
    return Part("predictions", "Predictions, and whether they held", text, missing, tables=tables(made), folded=True)


LIMITS = (
    "The curve covers reads of ordinary accesses. Large scans and VACUUM read through rings of their own.",
    "The advice does not know what else the machine needs its memory for.",
    "Both caches are compared for one database, the one that was connected to. The pool is that of all databases.",
    "Each buffer was read at a slightly different time, without a lock.",
    "Replayed searches start from the present state. They cannot know what other sessions will do.",
)


def learned(facts: Facts) -> list[tuple[str, str]]:
    """Returns on what the curve rests."""
    row = next(iter(facts.status.found), None)
    if row is None or row.reads_seen is None:
        return [("The curve learned from", UNKNOWN)]
    reads, storage = (interval(error) for error in (row.self_error, row.storage_self_error))
    return [
        ("The curve learned from", f"{number(row.reads_seen)} reads, of {interval(row.sampled_fraction)} of the pages"),
        ("Error of the curve", f"reads {reads}, storage reads {storage}; 0 is perfect"),
        ("Reads missed", interval(row.missed_fraction)),
    ]


def method(report: Report) -> Part:
    server, facts = report.server, report.facts
    taken = f"{moment(report.taken_at)}, in a read-only transaction"
    pairs = [
        ("Server", server.version),
        ("Extension", f"pgbufprobe {server.extension_version}"),
        ("Database", server.database + (f" of {server.cluster_name}" if server.cluster_name else "")),
        ("Role of the server", "standby" if server.standby else "primary"),
        ("Running since", moment(server.started_at)),
        ("Taken", taken if report.seconds is None else f"{taken} of {figure(report.seconds)} s"),
        *learned(facts),
        (
            "Sampled",
            f"{interval(report.sampled.pool)} of the buffers, {interval(report.sampled.files)} of the blocks in files",
        ),
    ]
    if report.redacted:
        pairs.append(("Names", "replaced by the OIDs of relations and databases"))
    settings = table(
        "Settings",
        ["Setting", "Value"],
        [(row.name, row.setting or "") for row in facts.settings.found],
        words=("Value",),
    )
    missing = joined(facts.settings.why, facts.status.why)
    return Part(
        "method", "How this was measured", (), missing, tuple(pairs), tables=tables(settings), after=LIMITS, folded=True
    )


def parts(report: Report) -> tuple[Part, ...]:
    facts = report.facts
    return (
        predictions(facts),
        gains(report),
        caches.both(facts),
        caches.pool(facts),
        usage(report),
        clock(report),
        costs(facts),
        method(report),
    )
