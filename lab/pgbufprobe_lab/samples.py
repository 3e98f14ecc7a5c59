"""The samples of each scenario: their names, fields, units and meaning.

Measuring and analysis share this module and nothing else. A sample is a flat dictionary. It always has

    what       the name, one of those below
    pool       "small", "middle" or "large" (25, 50, 75 % of the memory unless the scenario differs), or None
               if there is only one pool
    pool_bytes shared_buffers of the server that was measured
    trial      1, 2, ...; None if the sample belongs to no trial
    x          its position on the horizontal axis of the scenario's chart, or None
    value      a number, never None
    unit       the unit of the value

and the fields that its description names. A sample that is absent was not measured.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    """One kind of sample."""

    unit: str
    meaning: str
    x: str = ""
    fields: dict[str, str] = field(default_factory=dict)


TIERS = "shared_buffers | os_cache | storage"
CLOCK = {
    "passed_per_second": Kind("1/s", "buffers that the clock hand passed per second of the run", "clients"),
    "allocations_per_second": Kind(
        "1/s", "buffers allocated per second of the run; absent if the hand did not move", "clients"
    ),
    "inspected_per_allocation": Kind(
        "buffers", "buffers inspected per allocation; absent if nothing was allocated", "clients"
    ),
}


def _with_fields(samples: dict[str, Kind], fields: dict[str, str]) -> dict[str, Kind]:
    return {name: Kind(s.unit, s.meaning, s.x, fields) for name, s in samples.items()}


READ_COST = Kind(
    "us",
    "time of a read, from pgbufprobe_read_cost()",
    fields={"tier": TIERS, "stat": "avg | p99", "reads": "number of reads from that tier"},
)
METHODS = {
    "method": "reads: derived from timed reads, as published; live: pgbufprobe_sweep_cost('live'); "
    "replay: pgbufprobe_sweep_cost('worst')"
}
ONE_HAND = "clock 5"
SWEEPS = {  # policies of pgbufprobe_policies()
    ONE_HAND: "1 hand",
    "clock 5, 2 hands": "2 hands",
    "clock 5, 4 hands": "4 hands",
    "clock 5, batches of 64": "batches of 64",
}
SWEPT = {
    "load": "skewed | moving (a hot set) | scans (by an index, so that they enter the pool, beside skewed lookups)",
    "policy": " | ".join(SWEEPS),
}

SAMPLES: dict[str, dict[str, Kind]] = {
    "A1": {
        "hit_ms": Kind("ms", "execution time of a single-row read by TID, all in the pool", "number of the read"),
        "read_cost_us": READ_COST,
    },
    "A2": {
        "read_ms": Kind(
            "ms",
            "execution time of one read of another table, of one page, with all pages of the pool in heavy use",
            "number of the read, 1..500",
            {"passes": "passes of the clock sweep during this read, from pgbufprobe_clock(); 1 is a full pass"},
        ),
        "histogram": Kind(
            "buffers",
            "buffers at a usage count, before and after an event of half a pass or more",
            "usage count; None: unused buffers",
            {
                "event": "number of the event in this trial, 1..",
                "kind": "read: a read of another table; live: searches by pgbufprobe_sweep_cost('live')",
                "read": "number of the read, None if kind is live",
                "moment": "before | after",
                "passes": "passes of the clock sweep in the event",
            },
        ),
        "pass_ms": Kind("ms", "cost of one pass; one for each pool, trial and method", fields=METHODS),
        "ms_per_gb": Kind("ms/GB", "pass_ms for 1 GB of pool", fields=METHODS),
        "sweep_read_ms": Kind(
            "ms",
            "time of a read that swept, less the median time of the trial's reads that did not",
            "number of the read",
            {"passes": "passes of the clock sweep in that read"},
        ),
        "swept_reads": Kind("reads", "how many of the 500 reads caused half a pass or more"),
    },
    "A3": {
        "read_ms": Kind(
            "ms",
            "execution time of a single-row read by TID. Pool small: pages only in the page cache; large: in the pool",
            "number of the read",
            {
                "tier": TIERS + "; where this read found its page: shared_buffers for a hit, storage if the kernel "
                "read from the device (including readahead), else os_cache"
            },
        ),
        "read_cost_us": READ_COST,
    },
    "A4": {
        "update_ms": Kind("ms", "execution time of a single-row UPDATE by TID, page in the pool", "number"),
        "commit_ms": Kind("ms", "time of its COMMIT, seen from the client", "number"),
    },
    "A5": {
        "scan_ms": Kind(
            "ms",
            "one scan of all buffer descriptors, from pgbufprobe_scan_cost()",
            fields={"method": "read | lock | match (a checkpoint uses lock)", "stat": "min | max"},
        ),
        "scan_ms_per_gb": Kind("ms/GB", "the fastest scan for 1 GB of pool", fields={"method": "read | lock | match"}),
        "pass_ms": Kind(
            "ms", "the figure that was published instead: the cost of one pass", fields={"method": "live | replay"}
        ),
        "ms_per_gb": Kind("ms/GB", "pass_ms for 1 GB of pool", fields={"method": "live | replay"}),
    },
    "A6": _with_fields(
        {
            "tps": Kind("1/s", "single-row reads by TID per second, from pgbench", "clients"),
            "latency_ms": Kind("ms", "mean latency, from pgbench", "clients"),
            "hit_share": Kind("share", "share of the reads that were hits in the pool", "clients"),
            **CLOCK,
        },
        {"case": "hit: all pages in the pool (A1); os: table twice the small pool, all of it in the page cache (A3)"},
    ),
    "A7": {
        "mean_ms": Kind(
            "ms", "mean execution time of 1000 random single-row reads by TID", "range, percent of the table"
        ),
        "pool_miss_share": Kind("share", "share of these reads that missed the pool", "range, percent of the table"),
        "storage_share": Kind("share", "share of these reads that went to storage", "range, percent of the table"),
        "predicted_storage_share": Kind(
            "share",
            "storage_share of the middle or large pool, as pgbufprobe_advice() predicts it with the small pool after "
            "trial 1; absent if it is unknown",
            "range, percent of the table",
        ),
        "shared_bytes": Kind("bytes", "of the table in the pool, after the reads", "range, percent of the table"),
        "os_bytes": Kind("bytes", "of the table in the page cache", "range, percent of the table"),
        "both_bytes": Kind("bytes", "of the table in both", "range, percent of the table"),
    },
    "A8": {
        "share": Kind(
            "share",
            "share of table 1 that the tier serves; the three add up to 1. Pools small and large only",
            fields={
                "tier": TIERS,
                "moment": "before | after (the scan of table 2)",
                "method": "residency: of all blocks, from pgbufprobe_residency(), before the timed reads; reads: of "
                "the timed reads. As published, these read all pages of table 1 after the scan, and pages that they "
                "evict count as misses: the published page cache hit ratio is that of the reads",
            },
        ),
        "mean_ms": Kind(
            "ms",
            "mean execution time of the timed single-row reads of table 1",
            fields={
                "tier": TIERS + " | all; absent if no read found its page there",
                "moment": "before | after",
                "reads": "number of reads",
            },
        ),
        "read_cost_us": Kind(READ_COST.unit, READ_COST.meaning, fields={**READ_COST.fields, "moment": "after"}),
        "scan_seconds": Kind("s", "time of the sequential scan of table 2"),
        "shared_bytes": Kind("bytes", "in the pool", fields={"table": "1 | 2", "moment": "before | after"}),
        "os_bytes": Kind("bytes", "in the page cache", fields={"table": "1 | 2", "moment": "before | after"}),
        "both_bytes": Kind("bytes", "in both", fields={"table": "1 | 2", "moment": "before | after"}),
    },
    "B": {
        # One pool (pool is None). x is always the ring size in bytes. The parameters "limits" and "published_limits"
        # are the sizes used and the published ones, smallest first.
        "vacuum_seconds": Kind("s", "time of VACUUM", "ring size, bytes"),
        "vacuum_writes": Kind("writes", "writes by the session that runs VACUUM, from pg_stat_io", "ring size, bytes"),
        "vacuum_write_bytes": Kind("bytes", "the same in bytes", "ring size, bytes"),
        "checkpoint_buffers": Kind("buffers", "buffers written by the checkpoint after it", "ring size, bytes"),
        "checkpoint_seconds": Kind("s", "time of that checkpoint", "ring size, bytes"),
        "buffers": Kind(
            "buffers",
            "unused, clean and dirty buffers of the pool",
            "ring size, bytes",
            {"state": "unused | clean | dirty", "moment": "before | after (VACUUM) | checkpointed"},
        ),
        "relation_buffers": Kind(
            "buffers",
            "the same for the table and its indexes",
            "ring size, bytes",
            {"relation": "name", "state": "clean | dirty", "moment": "before | after | checkpointed"},
        ),
        "histogram": Kind(
            "buffers",
            "buffers at a usage count",
            "ring size, bytes",
            {"usagecount": "0.. ; None: unused", "moment": "before | after"},
        ),
    },
    "C": _with_fields(
        {
            # Pools are called "small" (128 MB) and "large" (2048 MB), scaled with the rows.
            "seconds": Kind("s", "execution time of the INSERT", "number of indexes, 0..5"),
            "hit": Kind("blocks", "shared hit", "number of indexes"),
            "read": Kind("blocks", "shared read", "number of indexes"),
            "dirtied": Kind("blocks", "shared dirtied", "number of indexes"),
            "written": Kind("blocks", "shared written", "number of indexes"),
            "index_bytes": Kind("bytes", "size of all indexes afterwards", "number of indexes"),
            "table_bytes": Kind("bytes", "size of the table afterwards", "number of indexes"),
        },
        {"order": "ascending | descending | constant | random"},
    ),
    "D": _with_fields(
        {
            # Pools are called "small" (128 MB) and "large" (1024 MB).
            "ms": Kind("ms", "execution time of the count", "1: cold, 2: again"),
            "heap_blks_read": Kind("blocks", "blocks of the table that were read", "1: cold, 2: again"),
            "heap_blks_hit": Kind("blocks", "blocks of the table that were hit", "1: cold, 2: again"),
        },
        {
            "query": "c_id = 1 | c_id < 150",
            "order": "p_id | c_id: how the rows of the table are ordered",
        },
    ),
    "E1": {
        # One pool that holds all data (pool is None). The three runs of each point are trials 1..3.
        "tps": Kind("1/s", "transactions per second, from pgbench", "clients"),
        "latency_ms": Kind("ms", "mean latency, from pgbench", "clients"),
        **CLOCK,
    },
    "E2": _with_fields(
        {
            "tps": Kind("1/s", "scripts (10 updates each) per second, from pgbench", "clients"),
            "latency_ms": Kind("ms", "mean latency of a script, from pgbench", "clients"),
            **CLOCK,
        },
        {
            "script": "write1: 10 transactions of one update | write10: one transaction of 10",
            "variant": "simple | prepared | repeatable_read | huge_pages; all but simple with one number of "
            "clients only; huge_pages only if the machine has enough",
        },
    ),
    "E3": {
        "seconds": Kind(
            "s",
            "time of vacuumdb --freeze --analyze",
            "jobs",
            {"checkpoint_completion_target": "0.5 | 0.9; 0.9 with the largest number of jobs only"},
        ),
    },
    "E4": _with_fields(
        {
            "build_seconds": Kind("s", "time of CREATE INDEX; not for none and partitions", "pages_per_range"),
            "index_bytes": Kind("bytes", "size of the index; not for none and partitions", "pages_per_range"),
            "point_ms": Kind("ms", "execution time of a read of one key", "pages_per_range"),
            "range_ms": Kind("ms", "execution time of a read of 1 % of the keys", "pages_per_range"),
        },
        {
            "order": "sorted | random: the order of rows in the table",
            "index": "btree | brin | none | partitions (x is None except for brin)",
        },
    ),
    "E5": _with_fields(
        {
            "tps": Kind("1/s", "transactions per second of this interval, from pgbench", "seconds since start"),
            "latency_ms": Kind("ms", "mean latency of this interval", "seconds since start"),
            "mean_tps": Kind("1/s", "transactions per second of the whole run"),
        },
        {
            "data_dir": "the folder as given by --data-dir",
            "filesystem": "its file system",
            "load": "read | tpcb",
            "place": "inside | outside (the data fits the memory, or is 1.5 times as large)",
        },
    ),
    "F": {
        "miss_ratio": Kind(
            "share", "accesses that miss, simulated by pgbufprobe_policies() at today's size", fields=SWEPT
        ),
        "change": Kind(
            "share",
            "difference of the miss ratio to that of one hand, with its 95 % interval",
            fields={**SWEPT, "stat": "low | median | high"},
        ),
        "search_ns": Kind(
            "ns",
            "processor time of a search for a victim, in a model with threads (lab/search_model.c)",
            "threads",
            {"policy": SWEPT["policy"]},
        ),
    },
}

NAMES = tuple(SAMPLES)


def check(scenario: str, sample: dict[str, object]) -> None:
    """Raises ValueError if a sample differs from its description."""
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
        raise ValueError(f"{scenario} {what}: value {value!r} is not a number")
