"""The parts below the decision."""

from __future__ import annotations

from datetime import datetime

from pgbufprobe_page import Chart
from pgbufprobe_page.charts import Axis, Series, areas, bars, lines
from pgbufprobe_page.formatting import number, percent, size
from pgbufprobe_report import caches
from pgbufprobe_report.decision import READS, WAITS, ratio
from pgbufprobe_report.facts import Facts, Report, Usage
from pgbufprobe_report.view import (
    MB,
    UNKNOWN,
    Part,
    interval,
    joined,
    known,
    measured,
    moment,
    said,
    share_of,
    table,
    tables,
    with_error,
)

UNUSED = "unused"
PALETTE = [f"var(--s{i})" for i in range(6)]
MINUTES = Axis("minutes before this report", zero=False)
HISTORY = "From the history of the worker."


def answers(facts: Facts) -> Part:
    return Part("checkup", "All answers", unknown=facts.checkup.why, answers=tuple(facts.checkup.found))


def ago(then: str, report: Report) -> float:
    """Returns the minutes from the report to a time: negative, because it was before."""
    taken, now = (datetime.fromisoformat(text) for text in (then, report.taken_at))
    return round((taken - now).total_seconds() / 60, 2)


def usage_chart(rows: list[Usage]) -> Chart:
    names = tuple(UNUSED if row.usagecount is None else str(row.usagecount) for row in rows)
    points = [
        {"x": name, "y": row.bytes / MB, "series": "buffers", "label": size(row.bytes) if row.bytes else ""}
        for name, row in zip(names, rows, strict=True)
    ]
    spec = bars(points, Axis("usage count", names), Axis("MB"), Series(("buffers",)), height=220)
    return Chart("Now", "The clock hand evicts pages whose usage count is 0.", spec, name="chart-usage-now")


def usage_over_time(report: Report) -> tuple[Chart, ...]:
    samples = report.facts.history.found
    if len(samples) < 2:
        return ()
    names = [*(str(count) for count in range(len(samples[0].usagecounts))), UNUSED]
    points = []
    for row in samples:
        counts = [*row.usagecounts, row.unused]
        points += [
            {"x": ago(row.taken_at, report), "y": 100 * count / sum(counts), "series": name, "place": place}
            for place, (name, count) in enumerate(zip(names, counts, strict=True))
        ]
    palette = [*(PALETTE[min(i, 5)] for i in range(len(names) - 1)), "var(--grid)"]
    spec = areas(points, MINUTES, Axis("% of the pool"), names, palette)
    caption = "Buffers at each usage count, from the history of the worker."
    return (Chart("Over time", caption, spec, name="chart-usage-time"),)


def usage(report: Report) -> Part:
    facts, block = report.facts, report.server.block_bytes
    rows = facts.usage.found
    columns = [("Usage count", False), ("Size", True), ("Share", True), ("Dirty", True), ("Pinned buffers", True)]
    made = table(
        "Buffers at each usage count",
        columns,
        [
            (
                UNUSED if row.usagecount is None else str(row.usagecount),
                with_error(row.bytes, (row.buffers_error or 0) * block),
                known(row.fraction, percent),
                size(row.dirty * block),
                number(row.pinned),
            )
            for row in rows
        ],
        long=True,
    )
    charts = ((usage_chart(rows),) if rows else ()) + usage_over_time(report)
    return Part(
        "usage", "Usage counts", unknown=joined(facts.usage.why, facts.history.why), charts=charts, tables=tables(made)
    )


def clock(report: Report) -> Part:
    facts = report.facts
    if not facts.clock.found:
        return Part("clock", "Clock hand", unknown=facts.clock.why)
    row = facts.clock.found[0]
    still = f"the hand did not move in {number(row.seconds)} s"
    inspected = row.inspected_per_allocation
    pairs = (
        ("Position", f"{share_of(row.hand, row.buffers)} of the pool, after {number(row.passes)} passes"),
        ("A pass takes", still if row.seconds_per_pass is None else f"{number(row.seconds_per_pass)} s"),
        (
            "Inspected for each allocation",
            "nothing was allocated" if inspected is None else f"{number(inspected)} buffers",
        ),
        ("Allocations", measured(row.allocations_per_second, "per second")),
        ("Watched for", f"{number(row.seconds)} s"),
    )
    points = [
        {"x": ago(sample.taken_at, report), "y": sample.seconds_per_pass, "series": "pass"}
        for sample in facts.history.found
        if sample.seconds_per_pass is not None
    ]
    charts: tuple[Chart, ...] = ()
    if len(points) > 1:
        spec = lines(points, MINUTES, Axis("s"), Series(("pass",)), height=220)
        charts = (Chart("Seconds for each pass of the clock hand", HISTORY, spec, name="chart-clock"),)
    return Part("clock", "Clock hand", unknown=facts.clock.why, pairs=pairs, charts=charts)


def costs(facts: Facts) -> Part:
    columns = [("Usage counts", False), ("Median", True), ("95 %", True), ("Longest", True)]
    columns += [("Inspected for each", True), ("Dirty victims", True), ("A whole pass", True)]
    victims = table(
        "Searches for a buffer to evict, replayed without changing anything",
        columns,
        [
            (
                {"current": "as now", "worst": "all at the highest"}.get(row.scenario, row.scenario),
                *(measured(us, "µs") for us in (row.p50_us, row.p95_us, row.max_us)),
                known(row.inspected_per_victim, number),
                f"{number(row.dirty_victims)} of {number(row.victims)}",
                measured(row.ms_per_pass, "ms"),
            )
            for row in facts.victims.found
        ],
    )
    scans = table(
        "Scans of all buffer descriptors",
        [("Scan", False), ("Average", True), ("Best", True), ("Slowest", True), ("For each GB of the pool", True)],
        [
            (
                f"{row.method}: {row.models}",
                *(measured(ms, "ms") for ms in (row.avg_ms, row.min_ms, row.max_ms, row.ms_per_gb)),
            )
            for row in facts.scans.found
        ],
    )
    missing = joined(facts.victims.why, facts.scans.why)
    return Part("costs", "Victims and scans", unknown=missing, tables=tables(victims, scans))


def gains(report: Report) -> Part:
    facts, block = report.facts, report.server.block_bytes

    def read(blocks: float | None, error: float | None) -> str:
        return UNKNOWN if blocks is None else with_error(blocks * block, (error or 0) * block)

    rows = sorted(facts.gains.found, key=lambda row: -(row.estd_reads_saved or 0))
    rows = [row for row in rows if row.estd_loads is not None]
    columns = [("Relation", False), ("Wasted: reads that twice the size would save", True)]
    columns += [("Share of its reads", True), ("Of these, wait for storage", True)]
    columns += [("Reads that half the size would add", True), ("Working set", True)]
    window = facts.sizes.found[0].window_seconds if facts.sizes.found else None
    made = table(
        f"Reads{'' if window is None else f' in the last {number(window)} s'}, and what other sizes would change",
        columns,
        [
            (
                str(row),
                read(row.estd_reads_saved, row.estd_reads_saved_error),
                share_of(row.estd_reads_saved, row.estd_loads),
                read(row.estd_storage_reads_saved, row.estd_storage_reads_saved_error),
                read(row.estd_reads_added, row.estd_reads_added_error),
                with_error(row.working_set_bytes, row.working_set_bytes_error),
            )
            for row in rows
        ],
        long=True,
    )
    notes = said([(str(row), row.note) for row in facts.gains.found], "All relations")
    text = ("Reads that wait for storage may be negative: a larger pool leaves less to the page cache.",)
    return Part("gains", "Who gains", text if rows else (), facts.gains.why, tables=tables(made), after=notes)


def predictions(facts: Facts) -> Part:
    rows = facts.predictions.found
    columns = [("Made", False), ("Sizes", False), ("Held", False), ("Reads predicted", True), ("Measured", True)]
    columns += [("Storage predicted", True), ("Measured", True), ("Note", False)]
    made = table(
        "Predictions before restarts with another size, newest first",
        columns,
        [
            (
                moment(row.made_at),
                f"{size(row.from_bytes)} to {size(row.to_bytes)}",
                {True: "yes", False: "no", None: "undecided"}[row.held],
                interval(*ratio(row, READS)),
                known(row.measured_miss_ratio, percent),
                interval(*ratio(row, WAITS)),
                known(row.measured_storage_ratio, percent),
                row.note or "",
            )
            for row in rows
        ],
    )
    missing = facts.predictions.why
    text = () if rows or missing else ("The server has not been restarted with another size.",)
    return Part("predictions", "Predictions, and whether they held", text, missing, tables=tables(made))


LIMITS = (
    "The curve covers reads of ordinary accesses. Large scans and VACUUM read through rings of their own.",
    "The advice does not know what else the machine needs its memory for.",
    "Both caches are compared for one database, the one that was connected to. The pool is that of all databases.",
    "Each buffer was read at a slightly different time, without a lock.",
    "Replayed searches start from the present state. They cannot know what other sessions will do.",
)


def learned(facts: Facts) -> list[tuple[str, str]]:
    """Returns on what the curve rests."""
    today = facts.today
    if today is None or today.reads_seen is None:
        return [("The curve learned from", UNKNOWN)]
    reads, storage = (known(error, number) for error in (today.self_error, today.storage_self_error))
    return [
        ("The curve learned from", f"{number(today.reads_seen)} reads in {measured(today.window_seconds, 's')}"),
        ("Error of the curve", f"reads {reads}, storage reads {storage}; 0 is perfect"),
        ("Loads missed", known(today.missed_loads, percent)),
    ]


def method(report: Report) -> Part:
    server, facts = report.server, report.facts
    pool, files = percent(report.sampled.pool), percent(report.sampled.files)
    pairs = [
        ("Server", server.version),
        ("Extension", f"pgbufprobe {server.extension_version}"),
        ("Database", server.database + (f" of {server.cluster_name}" if server.cluster_name else "")),
        ("Role of the server", "standby" if server.standby else "primary"),
        ("Running since", moment(server.started_at)),
        ("Taken", f"{moment(report.taken_at)}, in {number(report.seconds)} s, in a read-only transaction"),
        *learned(facts),
        ("Sampled", f"{pool} of the buffers, {files} of the blocks in files"),
    ]
    if report.redacted:
        pairs.append(("Names", "replaced by the OIDs of relations and databases"))
    settings = table(
        "Settings",
        [("Setting", False), ("Value", False)],
        [(row.name, row.setting or "") for row in facts.settings.found],
    )
    queries = table(
        "What was asked",
        [("Function", False), ("Rows", True), ("Time", True)],
        [
            (fact.call, UNKNOWN if fact.rows is None else number(len(fact.rows)), f"{number(fact.seconds)} s")
            for fact in vars(facts).values()
        ],
        long=True,
    )
    return Part(
        "method",
        "How this was measured",
        unknown=facts.settings.why,
        pairs=tuple(pairs),
        tables=tables(queries, settings),
        after=LIMITS,
    )


def parts(report: Report) -> tuple[Part, ...]:
    facts = report.facts
    return (
        answers(facts),
        usage(report),
        clock(report),
        costs(facts),
        caches.both(facts),
        caches.pool(facts),
        gains(report),
        predictions(facts),
        method(report),
    )
