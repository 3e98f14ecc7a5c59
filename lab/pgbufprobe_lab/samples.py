"""What each scenario records: the names of its samples, their fields, units and meaning.

This is the contract between the measuring half of the laboratory and the report. A sample is a flat
dictionary. It always has

    what       the name, one of those below
    pool       "small", "middle" or "large" (25, 50, 75 % of the memory), another name where the scenario
               says so, or None where there is one pool only
    pool_bytes shared_buffers of the server that was measured
    trial      1, 2, ... ; None where the sample belongs to no trial
    x          where it belongs on the horizontal axis of the scenario's plot, or None
    value      the figure, a number, never None
    unit       its unit

and the fields that its description names. A sample that is not there was not measured.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sample:
    """One kind of sample."""

    unit: str
    meaning: str
    x: str = ""
    fields: dict[str, str] = field(default_factory=dict)


TIERS = "shared_buffers | os_cache | storage"
CLOCK = {
    "ticks_per_second": Sample("1/s", "buffers that the hand passed in a second of the run", "clients"),
    "allocations_per_second": Sample("1/s", "buffers allocated in a second of the run", "clients"),
    "inspected_per_allocation": Sample(
        "buffers", "buffers inspected for each allocation; absent where nothing was allocated", "clients"
    ),
}


def _with_fields(samples: dict[str, Sample], fields: dict[str, str]) -> dict[str, Sample]:
    return {name: Sample(s.unit, s.meaning, s.x, fields) for name, s in samples.items()}


READ_COST = Sample(
    "us",
    "one read as pgbufprobe_read_cost() measured it",
    fields={"tier": TIERS, "stat": "avg | p50 | p99", "reads": "how many reads of that tier"},
)
METHODS = {
    "method": "reads: derived from timed reads as published; live: pgbufprobe_sweep_cost('live'); "
    "replay: pgbufprobe_sweep_cost('worst')"
}

SAMPLES: dict[str, dict[str, Sample]] = {
    "A1": {
        "hit_ms": Sample("ms", "execution time of a single-row read by TID, all in the pool", "number of the read"),
        "read_cost_us": READ_COST,
    },
    "A2": {
        "read_ms": Sample(
            "ms",
            "execution time of one read of another table, one page each, with the pool full of pages in heavy use",
            "number of the read, 1..500",
            {"passes": "turns of the hand during this read, from pgbufprobe_clock(); near 0 no sweep, 1 a full one"},
        ),
        "histogram": Sample(
            "buffers",
            "buffers at a usage count, before and after an event in which the hand made a turn or more",
            "usage count; None: unused buffers",
            {
                "event": "number of the event in this trial, 1..",
                "kind": "read: a read of another table found its victim; live: searches by pgbufprobe_sweep_cost('live')",
                "read": "number of the read, None where kind is live",
                "moment": "before | after",
                "passes": "turns of the hand in the event",
            },
        ),
        "pass_ms": Sample("ms", "cost of one turn of the hand; one a pool, trial and method", fields=METHODS),
        "ms_per_gb": Sample("ms/GB", "pass_ms for 1 GB of pool", fields=METHODS),
        "sweep_read_ms": Sample(
            "ms",
            "what a read that swept took more than the trial's median read that did not",
            "number of the read",
            {"passes": "turns of the hand in that read"},
        ),
        "swept_reads": Sample("reads", "how many of the 500 reads made the hand turn 0.5 times or more"),
    },
    "A3": {
        "read_ms": Sample(
            "ms",
            "execution time of a single-row read by TID. Pool small: pages only in the OS cache; large: pages in the pool",
            "number of the read",
            {"tier": TIERS + "; what this read really met: shared_buffers if it was a hit, storage if bytes "
             "were fetched from the device (a read that does fetches a few pages ahead), else os_cache"},
        ),
        "read_cost_us": READ_COST,
    },
    "A4": {
        "update_ms": Sample("ms", "execution time of a single-row UPDATE by TID, page in the pool", "number"),
        "commit_ms": Sample("ms", "time of its COMMIT, seen from the client", "number"),
    },
    "A5": {
        "scan_ms": Sample(
            "ms",
            "one scan of all buffer descriptors, by pgbufprobe_scan_cost()",
            fields={"method": "read | lock | match (lock is the checkpoint's way)", "stat": "avg | min | max"},
        ),
        "scan_ms_per_gb": Sample(
            "ms/GB", "the average for 1 GB of pool", fields={"method": "read | lock | match"}
        ),
        "pass_ms": Sample("ms", "the figure that was published instead: one turn of the hand",
                          fields={"method": "live | replay"}),
        "ms_per_gb": Sample("ms/GB", "pass_ms for 1 GB of pool", fields={"method": "live | replay"}),
    },
    "A6": _with_fields(
        {
            "tps": Sample("1/s", "single-row reads by TID in a second, by pgbench", "clients"),
            "latency_ms": Sample("ms", "mean latency, by pgbench", "clients"),
            "hit_share": Sample("share", "share of the reads that were hits in the pool", "clients"),
            **CLOCK,
        },
        {"case": "hit: all pages in the pool (A1); os: table twice the small pool, all of it in the OS cache (A3)"},
    ),
    "A7": {
        "mean_ms": Sample("ms", "mean execution time of 1000 random single-row reads by TID", "range, percent of the table"),
        "pool_miss_share": Sample("share", "share of these reads that missed the pool", "range, percent of the table"),
        "storage_share": Sample("share", "share of these reads that went to storage", "range, percent of the table"),
        "shared_bytes": Sample("bytes", "of the table in the pool, after the reads", "range, percent of the table"),
        "os_bytes": Sample("bytes", "of the table in the OS cache", "range, percent of the table"),
        "both_bytes": Sample("bytes", "of the table in both", "range, percent of the table"),
    },
    "A8": {
        "share": Sample(
            "share",
            "share of table 1 that is served from the tier; the three add up to 1. Pools small and large only",
            fields={
                "tier": TIERS,
                "moment": "before | after (the scan of table 2)",
                "method": "residency: all blocks, by pgbufprobe_residency(), before these reads; reads: of the reads that "
                "were timed. After the scan all pages of table 1 are read one by one, as published, and what the "
                "first of them push out counts, too: the published OS hit ratio is that of the reads",
            },
        ),
        "mean_ms": Sample(
            "ms",
            "mean execution time of the timed single-row reads of table 1",
            fields={"tier": TIERS + " | all; absent where no read met the tier", "moment": "before | after", "reads": "how many"},
        ),
        "read_cost_us": Sample(
            READ_COST.unit, READ_COST.meaning, fields={**READ_COST.fields, "moment": "after"}
        ),
        "scan_seconds": Sample("s", "time of the sequential scan of table 2"),
        "shared_bytes": Sample("bytes", "in the pool", fields={"table": "1 | 2", "moment": "before | after"}),
        "os_bytes": Sample("bytes", "in the OS cache", fields={"table": "1 | 2", "moment": "before | after"}),
        "both_bytes": Sample("bytes", "in both", fields={"table": "1 | 2", "moment": "before | after"}),
    },
    "B": {
        # One pool (pool is None). x everywhere: the ring's limit in bytes; the three are parameters "limits",
        # smallest first, with the published ones they stand for in "published_limits".
        "vacuum_seconds": Sample("s", "time of VACUUM", "ring limit, bytes"),
        "vacuum_writes": Sample("writes", "writes by the vacuuming session, from pg_stat_io", "ring limit, bytes"),
        "vacuum_write_bytes": Sample("bytes", "the same in bytes", "ring limit, bytes"),
        "checkpoint_buffers": Sample("buffers", "buffers that the checkpoint after it wrote", "ring limit, bytes"),
        "checkpoint_seconds": Sample("s", "time of that checkpoint", "ring limit, bytes"),
        "buffers": Sample(
            "buffers",
            "unused, clean and dirty buffers of the pool",
            "ring limit, bytes",
            {"state": "unused | clean | dirty", "moment": "before | after (VACUUM) | checkpointed"},
        ),
        "relation_buffers": Sample(
            "buffers",
            "the same for the table and its indexes",
            "ring limit, bytes",
            {"relation": "name", "state": "clean | dirty", "moment": "before | after | checkpointed"},
        ),
        "histogram": Sample(
            "buffers",
            "buffers at a usage count",
            "ring limit, bytes",
            {"usagecount": "0.. ; None: unused", "moment": "before | after"},
        ),
    },
    "C": _with_fields(
        {
            # Pools are called "small" (128 MB) and "large" (2048 MB), scaled with the rows.
            "seconds": Sample("s", "execution time of the INSERT", "number of indexes, 0..5"),
            "hit": Sample("blocks", "shared hit", "number of indexes"),
            "read": Sample("blocks", "shared read", "number of indexes"),
            "dirtied": Sample("blocks", "shared dirtied", "number of indexes"),
            "written": Sample("blocks", "shared written", "number of indexes"),
            "index_bytes": Sample("bytes", "size of all indexes afterwards", "number of indexes"),
            "table_bytes": Sample("bytes", "size of the table afterwards", "number of indexes"),
        },
        {"order": "ascending | descending | constant | random"},
    ),
    "D": _with_fields(
        {
            # Pools are called "small" (128 MB) and "large" (1024 MB).
            "ms": Sample("ms", "execution time of the count", "1: cold, 2: again"),
            "heap_blks_read": Sample("blocks", "blocks of the table that were read", "1: cold, 2: again"),
            "heap_blks_hit": Sample("blocks", "blocks of the table that were hit", "1: cold, 2: again"),
        },
        {
            "query": "c_id = 1 | c_id < 150",
            "order": "p_id | c_id: how the rows of the table are ordered",
        },
    ),
    "E1": {
        # One pool that holds all (pool is None). The three runs of each point are trials 1..3.
        "tps": Sample("1/s", "transactions in a second, by pgbench", "clients"),
        "latency_ms": Sample("ms", "mean latency, by pgbench", "clients"),
        **CLOCK,
    },
    "E2": _with_fields(
        {
            "tps": Sample("1/s", "scripts (10 updates each) in a second, by pgbench", "clients"),
            "latency_ms": Sample("ms", "mean latency of a script, by pgbench", "clients"),
            **CLOCK,
        },
        {
            "script": "write1: 10 transactions of one update | write10: one transaction of 10",
            "variant": "simple | prepared | repeatable_read | huge_pages; other than simple with one number of "
            "clients only; huge_pages only where the machine has some",
        },
    ),
    "E3": {
        "seconds": Sample(
            "s",
            "time of vacuumdb --freeze --analyze",
            "jobs",
            {"checkpoint_completion_target": "0.5 | 0.9; 0.9 with the largest number of jobs only"},
        ),
    },
    "E4": _with_fields(
        {
            "build_seconds": Sample("s", "time of CREATE INDEX; not for none and partitions", "pages_per_range"),
            "index_bytes": Sample("bytes", "size of the index; not for none and partitions", "pages_per_range"),
            "point_ms": Sample("ms", "execution time of a read of one key", "pages_per_range"),
            "range_ms": Sample("ms", "execution time of a read of 1 % of the keys", "pages_per_range"),
        },
        {
            "order": "sorted | random: how the rows lie in the table",
            "index": "btree | brin | none | partitions (x is None but for brin)",
        },
    ),
    "E5": _with_fields(
        {
            "tps": Sample("1/s", "transactions in a second of this interval, by pgbench", "seconds since start"),
            "latency_ms": Sample("ms", "mean latency of this interval", "seconds since start"),
            "mean_tps": Sample("1/s", "transactions in a second of the whole run"),
        },
        {
            "data_dir": "the folder as the user named it",
            "filesystem": "its file system",
            "load": "read | tpcb",
            "place": "inside | outside (the data fits the memory, or is 1.5 times as large)",
        },
    ),
}


def check(scenario: str, sample: dict[str, object]) -> None:
    """Raises ValueError when a sample is not what is described above."""
    kinds = SAMPLES[scenario]
    what = sample.get("what")
    if what not in kinds:
        raise ValueError(f"{scenario} has no sample named {what!r}")
    kind = kinds[str(what)]
    expected = {"what", "pool", "pool_bytes", "trial", "x", "value", "unit", *kind.fields}
    if sample.keys() != expected:
        raise ValueError(f"{scenario} {what}: fields {sorted(sample)} instead of {sorted(expected)}")
    if sample["unit"] != kind.unit:
        raise ValueError(f"{scenario} {what}: unit {sample['unit']!r} instead of {kind.unit!r}")
    value = sample["value"]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{scenario} {what}: value {value!r} is no number")
