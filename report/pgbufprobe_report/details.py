"""The parts below the decision."""

from __future__ import annotations

from datetime import datetime

from pgbufprobe_lab.formatting import number, percent, size
from pgbufprobe_lab.pages import Chart
from pgbufprobe_lab.pages.charts import Axis, Series, areas, bars, lines

from pgbufprobe_report import caches
from pgbufprobe_report.view import (
    BADGES,
    MB,
    UNKNOWN,
    Facts,
    Part,
    Row,
    interval,
    known,
    label,
    moment,
    share_of,
    table,
    tables,
    with_error,
)

UNUSED = "unused"
PALETTE = [f"var(--s{i})" for i in range(6)]


def answers(facts: Facts) -> Part:
    rows = []
    for row in facts.rows("checkup"):
        kind, sign = BADGES.get(row["verdict"], BADGES["unknown"])
        rows.append(row | {"kind": kind, "sign": sign})
    return Part("checkup", "Seven answers", unknown=facts.why("checkup"), answers=tuple(rows))


def ago(row: Row, data: Row) -> float:
    """Returns the minutes from the report to a sample of the history: negative, because it was before."""
    taken, now = (datetime.fromisoformat(text) for text in (row["taken_at"], data["taken_at"]))
    return round((taken - now).total_seconds() / 60, 2)


def usage_chart(rows: list[Row]) -> Chart:
    names = tuple(UNUSED if row["usagecount"] is None else str(row["usagecount"]) for row in rows)
    points = [
        {"x": name, "y": row["bytes"] / MB, "series": "buffers", "label": size(row["bytes"]) if row["bytes"] else ""}
        for name, row in zip(names, rows, strict=True)
    ]
    spec = bars(points, Axis("usage count", names), Axis("MB"), Series(("buffers",)), height=220)
    return Chart("Now", "The clock hand evicts pages whose usage count is 0.", spec, name="chart-usage-now")


def usage_over_time(facts: Facts) -> tuple[Chart, ...]:
    samples = facts.rows("history")
    if len(samples) < 2:
        return ()
    names = [*(str(count) for count in range(len(samples[0]["usagecounts"]))), UNUSED]
    points = []
    for row in samples:
        counts = [*row["usagecounts"], row["unused"]]
        points += [
            {"x": ago(row, facts.data), "y": 100 * count / sum(counts), "series": name, "place": place}
            for place, (name, count) in enumerate(zip(names, counts, strict=True))
        ]
    palette = [*(PALETTE[min(i, 5)] for i in range(len(names) - 1)), "var(--grid)"]
    spec = areas(points, Axis("minutes before this report", zero=False), Axis("% of the pool"), names, palette)
    return (
        Chart(
            "Over time", "Buffers at each usage count, from the history of the worker.", spec, name="chart-usage-time"
        ),
    )


def usage(facts: Facts) -> Part:
    rows = facts.rows("usage")
    columns = [("Usage count", False), ("Size", True), ("Share", True), ("Dirty", True), ("Pinned buffers", True)]
    block = facts.server["block_bytes"]
    made = table(
        "Buffers at each usage count",
        columns,
        [
            (
                known(row["usagecount"]) if row["usagecount"] is not None else UNUSED,
                with_error(row["bytes"], (row["buffers_error"] or 0) * block),
                known(row["fraction"], percent),
                with_error(row["dirty"] * block, (row["dirty_error"] or 0) * block),
                number(row["pinned"]),
            )
            for row in rows
        ],
        long=True,
    )
    charts = ((usage_chart(rows),) if rows else ()) + usage_over_time(facts)
    missing = " ".join(t for t in (facts.why("usage"), facts.why("history")) if t)
    return Part("usage", "Usage counts", unknown=missing, charts=charts, tables=tables(made))


def clock(facts: Facts) -> Part:
    row = facts.first("clock")
    if not row:
        return Part("clock", "Clock hand", unknown=facts.why("clock"))
    still = f"the hand did not move in {number(row.get('seconds'))} s"
    pairs = (
        ("Position", f"{share_of(row['hand'], row['buffers'])} of the pool, after {number(row['passes'])} passes"),
        ("A pass takes", still if row["seconds_per_pass"] is None else f"{number(row['seconds_per_pass'])} s"),
        (
            "Inspected for each allocation",
            "nothing was allocated"
            if row["inspected_per_allocation"] is None
            else f"{number(row['inspected_per_allocation'])} buffers",
        ),
        ("Allocations", known(row["allocations_per_second"], lambda n: f"{number(n)} per second")),
        ("Watched for", f"{number(row['seconds'])} s"),
    )
    points = [
        {"x": ago(sample, facts.data), "y": sample["seconds_per_pass"], "series": "pass"}
        for sample in facts.rows("history")
        if sample["seconds_per_pass"] is not None
    ]
    charts = ()
    if len(points) > 1:
        time = Axis("minutes before this report", zero=False)
        spec = lines(points, time, Axis("s"), Series(("pass",)), height=220)
        charts = (
            Chart(
                "Seconds for each pass of the clock hand", "From the history of the worker.", spec, name="chart-clock"
            ),
        )
    return Part("clock", "Clock hand", unknown=facts.why("clock"), pairs=pairs, charts=charts)


def costs(facts: Facts) -> Part:
    def us(value: float | None) -> str:
        return known(value, lambda v: f"{number(v)} µs")

    def ms(value: float | None) -> str:
        return known(value, lambda v: f"{number(v)} ms")

    columns = [
        ("Usage counts", False),
        ("Median", True),
        ("95 %", True),
        ("Longest", True),
        ("Inspected for each", True),
    ]
    columns += [("Dirty victims", True), ("A whole pass", True)]
    victims = table(
        "Searches for a buffer to evict, replayed without changing anything",
        columns,
        [
            (
                {"current": "as now", "worst": "all at the highest"}.get(row["scenario"], row["scenario"]),
                *(us(row[name]) for name in ("p50_us", "p95_us", "max_us")),
                known(row["inspected_per_victim"], number),
                f"{number(row['dirty_victims'])} of {number(row['victims'])}",
                ms(row["ms_per_pass"]),
            )
            for row in facts.rows("victims")
        ],
    )
    scans = table(
        "Scans of all buffer descriptors",
        [("Scan", False), ("Average", True), ("Best", True), ("Slowest", True), ("For each GB of the pool", True)],
        [
            (
                f"{row['method']}: {row['models']}",
                *(ms(row[name]) for name in ("avg_ms", "min_ms", "max_ms", "ms_per_gb")),
            )
            for row in facts.rows("scans")
        ],
    )
    missing = " ".join(t for t in (facts.why("victims"), facts.why("scans")) if t)
    return Part("costs", "Victims and scans", unknown=missing, tables=tables(victims, scans))


def gains(facts: Facts) -> Part:
    block = facts.server["block_bytes"]

    def read(row: Row, name: str) -> str:
        value, error = row[f"estd_{name}"], row.get(f"estd_{name}_error") or 0
        return UNKNOWN if value is None else with_error(value * block, error * block)

    rows = sorted(facts.rows("gains"), key=lambda row: -(row["estd_reads_saved"] or 0))
    rows = [row for row in rows if row["estd_loads"] is not None]
    columns = [
        ("Relation", False),
        ("Wasted: reads that twice the size would save", True),
        ("Share of its reads", True),
    ]
    columns += [
        ("Of these, wait for storage", True),
        ("Reads that half the size would add", True),
        ("Working set", True),
    ]
    window = facts.first("sizes").get("window_seconds")
    made = table(
        f"Reads in the last {known(window, number)} s, and what other sizes would change",
        columns,
        [
            (
                label(row),
                read(row, "reads_saved"),
                share_of(row["estd_reads_saved"], row["estd_loads"]),
                read(row, "storage_reads_saved"),
                read(row, "reads_added"),
                with_error(row["working_set_bytes"], row["working_set_bytes_error"]),
            )
            for row in rows
        ],
        long=True,
    )
    notes = dict.fromkeys(f"{label(row)}: {row['note']}." for row in facts.rows("gains") if row["note"])
    text = ("Reads that wait for storage may be negative: a larger pool leaves less to the page cache.",)
    return Part("gains", "Who gains", text if rows else (), facts.why("gains"), tables=tables(made), after=tuple(notes))


def predictions(facts: Facts) -> Part:
    rows = facts.rows("predictions")
    columns = [("Made", False), ("Sizes", False), ("Held", False), ("Reads predicted", True), ("Measured", True)]
    columns += [("Storage predicted", True), ("Measured", True), ("Note", False)]
    made = table(
        "Predictions before restarts with another size, newest first",
        columns,
        [
            (
                moment(row["made_at"]),
                f"{size(row['from_bytes'])} to {size(row['to_bytes'])}",
                {True: "yes", False: "no", None: "undecided"}[row["held"]],
                interval(row, "estd_miss_ratio", "miss_ratio"),
                known(row["measured_miss_ratio"], percent),
                interval(row, "estd_storage_ratio", "storage_ratio"),
                known(row["measured_storage_ratio"], percent),
                row["note"] or "",
            )
            for row in rows
        ],
    )
    missing = facts.why("predictions")
    text = () if rows or missing else ("The server has not been restarted with another size.",)
    return Part("predictions", "Predictions, and whether they held", text, missing, tables=tables(made))


LIMITS = (
    "The curve covers reads of ordinary accesses. Large scans and VACUUM read through rings of their own.",
    "The advice does not know what else the machine needs its memory for.",
    "Both caches are compared for one database, the one that was connected to. The pool is that of all databases.",
    "Each buffer was read at a slightly different time, without a lock.",
    "Replayed searches start from the present state. They cannot know what other sessions will do.",
)


def method(facts: Facts) -> Part:
    server, data = facts.server, facts.data
    today = next((row for row in facts.rows("sizes") if row["size_factor"] == 1), {})
    seen = known(today.get("reads_seen"), number)
    pairs = [
        ("Server", server["version"]),
        ("Extension", f"pgbufprobe {server['extension_version']}"),
        ("Database", f"{server['database']}" + (f" of {server['cluster_name']}" if server["cluster_name"] else "")),
        ("Role of the server", "standby" if server["standby"] else "primary"),
        ("Running since", moment(server["started_at"])),
        ("Taken", f"{moment(data['taken_at'])}, in {number(data['seconds'])} s, in a read-only transaction"),
        ("The curve learned from", f"{seen} reads in {known(today.get('window_seconds'), number)} s"),
        (
            "Error of the curve",
            f"reads {known(today.get('self_error'), number)}, storage reads "
            f"{known(today.get('storage_self_error'), number)}; 0 is perfect",
        ),
        ("Loads missed", known(today.get("missed_loads"), percent)),
        (
            "Sampled",
            ", ".join(
                f"{percent(share)} of {what}"
                for what, share in (
                    ("the buffers", data["sampled"]["pool"]),
                    ("the blocks in files", data["sampled"]["files"]),
                )
            ),
        ),
    ]
    settings = table(
        "Settings", [("Setting", False), ("Value", False)], [(r["name"], r["setting"]) for r in facts.rows("settings")]
    )
    queries = table(
        "What was asked",
        [("Function", False), ("Rows", True), ("Time", True)],
        [
            (
                fact["call"],
                UNKNOWN if fact["rows"] is None else number(len(fact["rows"])),
                f"{number(fact['seconds'])} s",
            )
            for fact in data["facts"].values()
        ],
        long=True,
    )
    if data["redacted"]:
        pairs.append(("Names", "replaced by the OIDs of relations and databases"))
    return Part(
        "method",
        "How this was measured",
        unknown=facts.why("settings"),
        pairs=tuple(pairs),
        tables=tables(queries, settings),
        after=LIMITS,
    )


def parts(facts: Facts) -> tuple[Part, ...]:
    made = (answers, usage, clock, costs, caches.both, caches.pool, gains, predictions, method)
    return tuple(make(facts) for make in made)
