"""The figures and findings of the write-ups, with source and unit. Nothing here was measured by this laboratory."""

from __future__ import annotations

from dataclasses import dataclass

from pgbufprobe_lab.sizes import MB


@dataclass(frozen=True)
class Source:
    """A write-up."""

    key: str
    title: str
    published: str
    machine: str


@dataclass(frozen=True)
class Figure:
    """One published figure. `key` is the name of its counterpart in compare.py."""

    scenario: str
    key: str
    label: str
    value: float
    unit: str
    note: str = ""


@dataclass(frozen=True)
class Experiment:
    """One experiment, for readers who do not know the write-up."""

    name: str
    title: str
    asks: str
    means: str
    finding: str

    @property
    def source(self) -> Source:
        return SOURCES[self.name[0]]


SOURCES = {
    source.key: source
    for source in (
        Source(
            "A",
            "PGECons WG3, the proper value of shared_buffers",
            "2021",
            "PostgreSQL 13.4, 4 logical CPUs at 2.3 GHz, 16 GB RAM, pools of 4, 8 and 12 GB",
        ),
        Source(
            "B",
            "Qiita, vacuum_buffer_usage_limit",
            "2024",
            "PostgreSQL 15.4 and 16.4, table of 10,000,000 rows, about 2.5 GB with its index",
        ),
        Source(
            "C",
            "Blog, indexes against shared_buffers",
            "2020/21",
            "PostgreSQL 13.1, 10,000,000 rows of 5 integers, pools of 128 MB and 2048 MB",
        ),
        Source(
            "D",
            "Caching tutorial, blocks read against blocks hit",
            "undated",
            "2,000,000 rows, pool of 128 MB",
        ),
        Source(
            "E",
            "PGECons WG1, scale-up and new features of 9.5",
            "2015",
            "PostgreSQL 9.4 and 9.5, 72 cores, 2 TB RAM, pgbench from a second machine",
        ),
        Source(
            "F",
            "pgsql-hackers, batches and partitions of the clock sweep",
            "2025/26",
            "patches for machines with several NUMA nodes",
        ),
    )
}

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "A1",
            "A hit in the pool",
            "Is a page found faster in a small pool than in a large one?",
            "Every requested page is already in shared buffers. If finding it took longer in a larger pool, "
            "every read would be slower.",
            "The time of a hit does not depend on the pool's size.",
        ),
        Experiment(
            "A2",
            "A pass of the clock sweep",
            "What does it cost to find a page to evict when every page is in heavy use?",
            "A full pool must evict a page for each page it reads. The clock sweep decrements the usage count of "
            "each buffer it visits. When all usage counts are at the maximum, a single read pays for passes over "
            "the whole pool.",
            "The cost of a pass is proportional to the pool, and each pass moves the histogram of usage counts "
            "one to the left.",
        ),
        Experiment(
            "A3",
            "A hit in the page cache",
            "How much slower is a page that only the kernel's page cache holds, compared with one in the pool?",
            "Pages that do not fit shared buffers may still be in the page cache. The difference is the cost of a "
            "small pool while memory is sufficient.",
            "A hit in the page cache costs tens of microseconds more.",
        ),
        Experiment(
            "A4",
            "An update and its commit",
            "Does the pool's size change what an update and its commit cost?",
            "The updated pages are in the pool. A commit waits for the write-ahead log, which does not use shared "
            "buffers.",
            "Neither depends on the pool's size, and the WAL determines the time of the commit.",
        ),
        Experiment(
            "A5",
            "A checkpoint's search for dirty pages",
            "How long does a search of the whole pool take?",
            "Each checkpoint, and each dropped table in a large pool, reads the descriptors of all buffers.",
            "The cost of a full scan is proportional to the pool.",
        ),
        Experiment(
            "A6",
            "More clients",
            "Does the pool's size change how throughput grows with the number of clients?",
            "The reads of A1 and A3 are repeated with 1, 2, 4 and 8 concurrent clients.",
            "The curve has the same shape for both sizes.",
        ),
        Experiment(
            "A7",
            "Double buffering",
            "How much memory is lost because shared buffers and the page cache hold the same pages?",
            "Random pages are read from a growing part of a table that is larger than memory. The part at which "
            "reads from storage begin shows how much the two caches hold together.",
            "The middle size degrades first, then the small one, then the large one.",
        ),
        Experiment(
            "A8",
            "A large sequential scan",
            "What remains in each cache after a sequential scan of a large table?",
            "A sequential scan of a large table uses a small ring of buffers, which protects the pool. The page "
            "cache has no such protection.",
            "The pool keeps its pages, and the page cache keeps none of them.",
        ),
        Experiment(
            "B",
            "VACUUM and the size of its ring",
            "What does a larger vacuum_buffer_usage_limit change?",
            "VACUUM uses a ring of buffers. In a small ring it must write dirty pages before it can reuse their "
            "buffers; in a large ring the next checkpoint writes them.",
            "A larger ring moves the writes from VACUUM to the checkpoint and shortens VACUUM.",
        ),
        Experiment(
            "C",
            "Indexes against the pool",
            "What does each further index cost an INSERT when the pool cannot hold the indexes?",
            "Random values access a random page of every index. When these pages are not in the pool, each row "
            "reads and writes one page per index.",
            "With random values and a pool smaller than the indexes, reads multiply and time grows faster than "
            "linearly. With a pool that holds them, time stays nearly linear.",
        ),
        Experiment(
            "D",
            "Blocks read and blocks hit",
            "Does the second run of a query read anything, and how many blocks does it need?",
            "The same count is run twice, on a table whose matching rows are scattered and on one where they are "
            "adjacent.",
            "The second run reads nothing, and the physical order determines how much cache a query needs.",
        ),
        Experiment(
            "E1",
            "Cached reads and the number of clients",
            "How far does read throughput grow with the number of clients?",
            "Each transaction counts consecutive accounts, all of them in the pool.",
            "Throughput grows until all CPUs are busy, and is constant beyond that.",
        ),
        Experiment(
            "E2",
            "One or ten updates per transaction",
            "How much faster are ten updates in one transaction?",
            "Ten single-row updates run in ten transactions (write1) or in one (write10).",
            "Ten updates in one transaction reach about twice the throughput of ten transactions.",
        ),
        Experiment(
            "E3",
            "vacuumdb with several jobs",
            "How much faster do several jobs vacuum many tables?",
            "vacuumdb processes one table per job. More jobs help until CPUs or disk are busy.",
            "More jobs shorten the run, but less than in proportion.",
        ),
        Experiment(
            "E4",
            "BRIN, B-tree or no index",
            "What does a BRIN index cost, and where does it help?",
            "A BRIN index stores one summary for each range of pages. It can skip pages only where adjacent pages "
            "hold adjacent values.",
            "BRIN is built in a fraction of the B-tree's time. It is near the B-tree on sorted data and like a "
            "sequential scan on random data.",
        ),
        Experiment(
            "E5",
            "The same load on different storage",
            "Which data directory serves the same loads best, with data that fits memory and data that does not?",
            "The same loads run in each data directory, for example one per file system.",
            "The best one depends on whether the data fits memory.",
        ),
        Experiment(
            "F",
            "Several hands, or batches, of the clock sweep",
            "Would they evict other pages, and find a victim faster?",
            "All sessions advance one hand, buffer by buffer. Patches take several buffers at a time, or give each "
            "part of the pool a hand. What that does to misses is simulated under live loads, and a search is timed "
            "in a model, as a stock server has one hand.",
            "A search becomes faster. Whether more accesses miss was not measured.",
        ),
    )
}

FIGURES = (
    Figure("A1", "hit_difference_ms", "largest difference between pools", 0.034, "ms"),
    Figure("A2", "pass_ms_per_gb", "a full pass, per GB of pool", 3.8, "ms/GB"),
    Figure("A2", "pass_large_small_ratio", "a full pass, large / small (sizes 3 to 1)", 2.34, "x"),
    Figure("A2", "sweeps_per_500_reads", "searches of whole passes in 500 reads", 3, "", "about"),
    Figure(
        "A2",
        "moved_left",
        "share of the pool at the usage count that the passes predict",
        524071 / 524177,
        "share",
        "from 524,177 buffers at 5 before and 524,071 at 4 after the read that swept",
    ),
    Figure("A3", "os_minus_pool_ms", "hit in the page cache minus hit in the pool", 0.038, "ms"),
    Figure("A4", "update_small_ms", "UPDATE, small pool", 0.170, "ms"),
    Figure("A4", "update_large_ms", "UPDATE, large pool", 0.165, "ms"),
    Figure("A4", "commit_small_ms", "COMMIT, small pool", 8.025, "ms"),
    Figure("A4", "commit_large_ms", "COMMIT, large pool", 8.099, "ms"),
    Figure("A5", "scan_ms_per_gb", "a full scan, per GB of pool", 3.8, "ms/GB", "published as derived from A2"),
    Figure("A8", "pool_share_small", "small pool: share found in the pool", 0.511, "share"),
    Figure("A8", "os_share_small", "small pool: share found in the page cache", 0.0, "share"),
    Figure("A8", "read_small_ms", "small pool: mean read", 9.966, "ms"),
    Figure("A8", "hit_small_ms", "small pool: a read from the pool", 0.077, "ms"),
    Figure("A8", "miss_small_ms", "small pool: a read from elsewhere", 20.303, "ms"),
    Figure("A8", "pool_share_large", "large pool: share found in the pool", 1.0, "share"),
    Figure("A8", "read_large_ms", "large pool: mean read", 0.076, "ms"),
    Figure("B", "writes_smallest", "writes by VACUUM, smallest ring", 332453, "writes", "16.4, 256 kB"),
    Figure("B", "writes_middle", "writes by VACUUM, middle ring", 104868, "writes", "16.4, 2 GB"),
    Figure("B", "writes_largest", "writes by VACUUM, largest ring", 1, "writes", "16.4, 10 GB"),
    Figure("B", "seconds_smallest", "VACUUM, smallest ring", 30.30, "s", "16.4, 256 kB"),
    Figure("B", "seconds_middle", "VACUUM, middle ring", 24.06, "s", "16.4, 2 GB"),
    Figure("B", "seconds_largest", "VACUUM, largest ring", 12.96, "s", "16.4, 10 GB"),
    Figure("B", "checkpoint_smallest", "written by the next checkpoint, smallest ring", 42, "buffers", "16.4, 256 kB"),
    Figure("B", "checkpoint_middle", "written by the next checkpoint, middle ring", 232014, "buffers", "16.4, 2 GB"),
    Figure("B", "checkpoint_largest", "written by the next checkpoint, largest ring", 295206, "buffers", "16.4, 10 GB"),
    Figure("D", "first_read", "c_id = 1, first run: blocks read", 10000, "blocks"),
    Figure("D", "first_hit", "c_id = 1, first run: blocks hit", 0, "blocks"),
    Figure("D", "first_ms", "c_id = 1, first run", 160, "ms"),
    Figure("D", "second_read", "c_id = 1, second run: blocks read", 0, "blocks"),
    Figure("D", "second_hit", "c_id = 1, second run: blocks hit", 10000, "blocks"),
    Figure("D", "second_ms", "c_id = 1, second run", 34, "ms"),
    Figure(
        "D", "many_read", "c_id < 150, second run: blocks read", 20331, "blocks", "pool of 128 MB, too small for it"
    ),
    Figure("D", "scattered_ordered", "blocks needed, scattered / ordered rows", 9.6, "x", "1000 and 104 blocks"),
    Figure("E2", "write10_write1", "updates per second, write10 / write1", 2.0, "x", "about"),
    Figure("E3", "seconds_one_job", "vacuumdb with 1 job", 1138, "s"),
    Figure("E3", "seconds_best", "vacuumdb with the best number of jobs", 245, "s", "40 jobs"),
    Figure("E3", "speedup", "speed-up by jobs", 4.64, "x"),
    Figure("E4", "brin_build_share_min", "BRIN build / B-tree build, least", 0.09, "share"),
    Figure("E4", "brin_build_share_max", "BRIN build / B-tree build, most", 0.15, "share"),
)


@dataclass(frozen=True)
class InsertRow:
    """C: blocks of an INSERT of random values, by pool and number of indexes."""

    pool_bytes: int
    indexes: int
    hit: int
    read: int
    dirtied: int
    written: int


C_INSERTED_ROWS = 10_000_000
C_ROWS = (
    InsertRow(128 * MB, 0, 10_127_370, 17, 63_695, 102_213),
    InsertRow(128 * MB, 1, 38_521_264, 1_557_291, 1_663_475, 1_705_449),
    InsertRow(128 * MB, 2, 61_878_755, 8_150_968, 8_296_359, 8_293_007),
    InsertRow(128 * MB, 3, 83_751_346, 16_229_545, 16_418_695, 16_317_232),
    InsertRow(128 * MB, 4, 105_068_771, 24_863_288, 25_089_897, 24_692_005),
    InsertRow(128 * MB, 5, 126_006_686, 33_876_541, 34_155_565, 32_979_050),
    InsertRow(2048 * MB, 0, 10_127_370, 17, 63_695, 63_695),
    InsertRow(2048 * MB, 1, 40_078_537, 18, 135_356, 96_107),
    InsertRow(2048 * MB, 2, 70_029_704, 19, 259_384, 128_519),
    InsertRow(2048 * MB, 3, 99_980_871, 20, 537_166, 160_931),
    InsertRow(2048 * MB, 4, 129_932_038, 21, 879_378, 193_343),
    InsertRow(2048 * MB, 5, 159_883_205, 22, 1_189_253, 225_755),
)

# A7: the order in which storage reads begin, worst first.
A7_ORDER = ("middle", "small", "large")


def figures(scenario: str) -> tuple[Figure, ...]:
    """Returns the published figures of one scenario that have a counterpart here."""
    return tuple(figure for figure in FIGURES if figure.scenario == scenario)
