"""What five write-ups published, with source and unit. Facts only: nothing here was measured by us.

No arithmetic and no wording of verdicts (verdicts.py), no layout (report/).
"""

from __future__ import annotations

from dataclasses import dataclass

GB = 1024**3
MB = 1024**2


@dataclass(frozen=True)
class Source:
    """A write-up."""

    key: str
    title: str
    published: str
    machine: str


@dataclass(frozen=True)
class Figure:
    """One published figure. `key` is the name under which the same is computed from samples."""

    scenario: str
    key: str
    label: str
    value: float
    unit: str
    note: str = ""


@dataclass(frozen=True)
class Scenario:
    """What a reader who never saw the write-up has to know."""

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
    )
}

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "A1",
            "A hit in the pool",
            "Is a page found faster in a small pool than in a large one?",
            "Every page asked for is already in shared buffers. If a larger pool made finding it slower, "
            "each single read would pay for the size.",
            "The time of a hit does not depend on the pool's size.",
        ),
        Scenario(
            "A2",
            "A turn of the clock sweep",
            "What does it cost to find a page to evict when every page is in heavy use?",
            "A full pool must give up a page for each page it reads in. The search ages every page it passes "
            "by one; when all are at the highest count, one unlucky read pays for turns over the whole pool.",
            "A turn costs in proportion to the pool, and each turn moves the histogram of usage counts one "
            "to the left.",
        ),
        Scenario(
            "A3",
            "A hit in the operating system's cache",
            "How much slower is a page that only the operating system has, compared with one in the pool?",
            "What does not fit shared buffers may still be in the kernel's page cache. The difference is the "
            "price of a small pool as long as memory is not short.",
            "A hit in the operating system's cache costs tens of microseconds more.",
        ),
        Scenario(
            "A4",
            "An update and its commit",
            "Does the pool's size change what an update and its commit cost?",
            "Pages to be updated are in the pool. A commit waits for the write-ahead log, which does not "
            "live in shared buffers.",
            "Neither depends on the pool's size, and the commit is bound by the log.",
        ),
        Scenario(
            "A5",
            "A checkpoint's search for dirty pages",
            "How long does a search of the whole pool take?",
            "Each checkpoint, and each dropped table on a large pool, looks at every buffer's descriptor.",
            "A full scan costs in proportion to the pool.",
        ),
        Scenario(
            "A6",
            "More clients at once",
            "Does the pool's size change how throughput grows with the number of clients?",
            "The reads of A1 and A3 again, by 1, 2, 4, 8 and more clients at once.",
            "The curve has the same shape for both sizes.",
        ),
        Scenario(
            "A7",
            "Caching the same page twice",
            "How much memory is lost because shared buffers and the operating system keep the same pages?",
            "Random pages are read from a growing part of a table that is larger than memory. The part at "
            "which the disk is first needed tells how much the two caches hold together.",
            "The middle size degrades first, then the small one, then the large one.",
        ),
        Scenario(
            "A8",
            "After one big sequential scan",
            "What is left of each cache after a big table was read from end to end?",
            "The server reads big tables through a small ring, so that they do not empty the pool. The "
            "operating system's cache has no such protection.",
            "The pool keeps its pages, and the operating system's cache keeps none of them.",
        ),
        Scenario(
            "B",
            "Vacuum and the size of its ring",
            "What does a larger vacuum_buffer_usage_limit change?",
            "Vacuum works in a ring of buffers. In a small ring it must write what it dirtied before it can "
            "go on; in a large one it leaves the writing to the next checkpoint.",
            "A larger ring moves the writes from vacuum to the checkpoint and shortens the vacuum.",
        ),
        Scenario(
            "C",
            "Indexes against the pool",
            "What does each further index cost an INSERT when the pool cannot hold the indexes?",
            "Random values touch a random page of every index. When those pages are not in the pool, each "
            "row reads and writes a page for each index.",
            "With random values and a pool smaller than the indexes, reads explode and time grows faster than "
            "linearly; with a pool that holds them, time stays nearly linear.",
        ),
        Scenario(
            "D",
            "Blocks read and blocks hit",
            "Does the second run of a query read anything, and how many blocks does it need?",
            "The same count is run twice, on a table whose matching rows are scattered and on one where they "
            "lie together.",
            "The second run reads nothing, and physical order decides how much cache a query needs.",
        ),
        Scenario(
            "E1",
            "Reads, more and more clients",
            "How far does read throughput grow with the number of clients?",
            "Each transaction counts over consecutive accounts that are all in the pool.",
            "Throughput grows until all CPUs are busy and is flat from there.",
        ),
        Scenario(
            "E2",
            "Updates, one or ten to a transaction",
            "What does it bring to commit ten updates at once?",
            "Ten single-row updates are ten transactions (write1) or one (write10).",
            "Ten updates in one transaction reach about twice the updates of ten transactions.",
        ),
        Scenario(
            "E3",
            "Vacuum by several jobs",
            "How much faster is a vacuum of many tables by several jobs?",
            "vacuumdb works on one table per job; more jobs help until CPUs or disk are busy.",
            "More jobs shorten the vacuum, less than in proportion.",
        ),
        Scenario(
            "E4",
            "BRIN, B-tree or no index",
            "What does a BRIN index cost, and where does it help?",
            "A BRIN index keeps one summary for each range of pages; it can leave out pages only where "
            "neighbouring pages hold neighbouring values.",
            "BRIN is built in a fraction of the B-tree's time; it is near the B-tree on sorted data and like "
            "a sequential scan on random data.",
        ),
        Scenario(
            "E5",
            "The same load on different storage",
            "Which of the data directories named serves the same loads best, inside and outside memory?",
            "The same loads are run in each data directory, for example one per file system.",
            "Which one is best depends on whether the data fits memory.",
        ),
    )
}

NAMES = tuple(SCENARIOS)

FIGURES = (
    Figure("A1", "hit_difference_ms", "largest difference between pools", 0.034, "ms"),
    Figure("A2", "pass_ms_per_gb", "a full turn, per GB of pool", 3.8, "ms/GB"),
    Figure("A2", "pass_large_small_ratio", "a full turn, large / small (sizes 3 to 1)", 2.34, "x"),
    Figure("A2", "sweeps_per_500_reads", "searches of whole turns in 500 reads", 3, "", "about"),
    Figure(
        "A2",
        "moved_left",
        "share of the pool that moved by the turns made",
        524071 / 524177,
        "share",
        "from 524,177 buffers at 5 before and 524,071 at 4 after the read that swept",
    ),
    Figure("A3", "os_minus_pool_ms", "hit in the OS cache minus hit in the pool", 0.038, "ms"),
    Figure("A4", "update_small_ms", "UPDATE, small pool", 0.170, "ms"),
    Figure("A4", "update_large_ms", "UPDATE, large pool", 0.165, "ms"),
    Figure("A4", "commit_small_ms", "COMMIT, small pool", 8.025, "ms"),
    Figure("A4", "commit_large_ms", "COMMIT, large pool", 8.099, "ms"),
    Figure("A5", "scan_ms_per_gb", "a full scan, per GB of pool", 3.8, "ms/GB", "derived from A2 there"),
    Figure("A8", "pool_share_small", "small pool: share found in the pool", 0.511, "share"),
    Figure("A8", "os_share_small", "small pool: share found in the OS cache", 0.0, "share"),
    Figure("A8", "read_small_ms", "small pool: mean read", 9.966, "ms"),
    Figure("A8", "hit_small_ms", "small pool: a read from the pool", 0.077, "ms"),
    Figure("A8", "miss_small_ms", "small pool: a read from elsewhere", 20.303, "ms"),
    Figure("A8", "pool_share_large", "large pool: share found in the pool", 1.0, "share"),
    Figure("A8", "read_large_ms", "large pool: mean read", 0.076, "ms"),
    Figure("B", "writes_smallest", "writes by vacuum, smallest ring", 332453, "writes", "16.4, 256 kB"),
    Figure("B", "writes_middle", "writes by vacuum, middle ring", 104868, "writes", "16.4, 2 GB"),
    Figure("B", "writes_largest", "writes by vacuum, largest ring", 1, "writes", "16.4, 10 GB"),
    Figure("B", "seconds_smallest", "vacuum, smallest ring", 30.30, "s", "16.4, 256 kB"),
    Figure("B", "seconds_middle", "vacuum, middle ring", 24.06, "s", "16.4, 2 GB"),
    Figure("B", "seconds_largest", "vacuum, largest ring", 12.96, "s", "16.4, 10 GB"),
    Figure("B", "checkpoint_smallest", "written by the next checkpoint, smallest ring", 42, "buffers", "16.4, 256 kB"),
    Figure("B", "checkpoint_middle", "written by the next checkpoint, middle ring", 232014, "buffers", "16.4, 2 GB"),
    Figure("B", "checkpoint_largest", "written by the next checkpoint, largest ring", 295206, "buffers", "16.4, 10 GB"),
    Figure("D", "first_read", "c_id = 1, first run: blocks read", 10000, "blocks"),
    Figure("D", "first_hit", "c_id = 1, first run: blocks hit", 0, "blocks"),
    Figure("D", "first_ms", "c_id = 1, first run", 160, "ms"),
    Figure("D", "second_read", "c_id = 1, second run: blocks read", 0, "blocks"),
    Figure("D", "second_hit", "c_id = 1, second run: blocks hit", 10000, "blocks"),
    Figure("D", "second_ms", "c_id = 1, second run", 34, "ms"),
    Figure("D", "many_read", "c_id < 150, again: blocks read", 20331, "blocks", "pool of 128 MB, too small for it"),
    Figure("D", "scattered_ordered", "blocks needed, scattered / ordered rows", 9.6, "x", "1000 and 104 blocks"),
    Figure("E2", "write10_write1", "updates per second, write10 / write1", 2.0, "x", "about"),
    Figure("E3", "seconds_one_job", "vacuum by 1 job", 1138, "s"),
    Figure("E3", "seconds_best", "vacuum by the best number of jobs", 245, "s", "40 jobs"),
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

# A7: the order in which the sizes begin to need the disk, worst first.
A7_ORDER = ("middle", "small", "large")


def figures(scenario: str) -> tuple[Figure, ...]:
    """The published figures of one scenario that have a counterpart here."""
    return tuple(figure for figure in FIGURES if figure.scenario == scenario)
