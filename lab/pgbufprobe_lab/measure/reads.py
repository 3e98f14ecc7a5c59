"""Reads single rows by TID: timed as published, with the cache that served each."""

import os
import random
from dataclasses import dataclass

import psycopg

SHARED, PAGE_CACHE, STORAGE = "shared_buffers", "os_cache", "storage"


@dataclass(frozen=True)
class Read:
    ms: float
    tier: str


def explain_analyze(connection: psycopg.Connection, statement: str) -> dict:
    """Executes the statement and returns its plan with EXPLAIN (ANALYZE, BUFFERS)."""
    row = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}").fetchone()
    assert row
    return row[0][0]


class Reader:
    """Reads rows of a table with one row per page."""

    def __init__(self, connection: psycopg.Connection, table: str):
        self.connection = connection
        self.table = table
        self._io = os.open(f"/proc/{connection.info.backend_pid}/io", os.O_RDONLY)

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._io)

    def _fetched(self) -> int:
        """Returns the bytes that the kernel read from storage for the backend, including readahead."""
        for line in os.pread(self._io, 512, 0).splitlines():
            if line.startswith(b"read_bytes:"):
                return int(line.split()[1])
        raise RuntimeError("kernel does not count the bytes that a process reads")

    def warm_up(self) -> None:
        """Loads the catalogs that the statement needs, so that the first read is not slower than the others."""
        for _ in range(3):
            explain_analyze(self.connection, f"SELECT * FROM {self.table} WHERE ctid = '(0,9)'")

    def read(self, block: int) -> Read:
        before = self._fetched()
        plan = explain_analyze(self.connection, f"SELECT * FROM {self.table} WHERE ctid = '({block},1)'")
        node = plan["Plan"]
        if node["Actual Rows"] != 1:
            raise RuntimeError(f"there is no row ({block},1) in {self.table}")
        tier = SHARED if node["Shared Read Blocks"] == 0 else STORAGE if self._fetched() > before else PAGE_CACHE
        return Read(plan["Execution Time"], tier)


def blocks_of(connection: psycopg.Connection, table: str) -> int:
    row = connection.execute(
        "SELECT pg_relation_size(%s::regclass) / current_setting('block_size')::bigint", [table]
    ).fetchone()
    assert row
    return row[0]


def load_range(connection: psycopg.Connection, table: str, first: int, count: int, times: int = 1) -> None:
    """Reads consecutive pages into the pool by TID range scans, which use no ring. Each adds one to usage counts."""
    connection.execute("SET enable_seqscan = off")
    for _ in range(times):
        connection.execute(f"SELECT count(*) FROM {table} WHERE ctid >= '({first},0)' AND ctid < '({first + count},0)'")


def load_random(connection: psycopg.Connection, table: str, first: int, count: int, reads: int) -> None:
    """Reads random pages of a range into the pool, one at a time."""
    for name in ("hashjoin", "mergejoin", "seqscan", "material", "memoize"):
        connection.execute(f"SET enable_{name} = off")
    connection.execute(
        f"""SELECT count(t.id) FROM
            (SELECT format('(%s,1)', {first} + floor(random() * {count})::bigint)::tid AS place
             FROM generate_series(1, {reads})) AS places
            JOIN {table} AS t ON t.ctid = places.place"""
    )


def load_page_cache(
    connection: psycopg.Connection, table: str, first: int, count: int, backwards: bool = False
) -> None:
    """Reads pages into the page cache only, 1 MB at a time. The server reads, so that they count in its cgroup."""
    step, segment = 128, 131072  # blocks of 8 kB: 1 MB, 1 GB
    row = connection.execute("SELECT pg_relation_filepath(%s::regclass)", [table]).fetchone()
    assert row
    places = range(first, first + count, step)
    for at in reversed(places) if backwards else places:
        number, within = divmod(at, segment)
        path = row[0] + (f".{number}" if number else "")
        blocks = min(step, first + count - at, segment - within)
        connection.execute("SELECT length(pg_read_binary_file(%s, %s, %s))", [path, within * 8192, blocks * 8192])


def make_pages(connection: psycopg.Connection, table: str, pages: int) -> None:
    """Creates a table with one row per page, vacuumed so that reads do not dirty it."""
    connection.execute(f"DROP TABLE IF EXISTS {table}")
    connection.execute(f"CREATE TABLE {table} (id integer, filler text) WITH (fillfactor = 10)")
    connection.execute(f"INSERT INTO {table} SELECT i, repeat('x', 500) FROM generate_series(1, {pages}) AS i")
    connection.execute(f"VACUUM (FREEZE, ANALYZE) {table}")
    if (made := blocks_of(connection, table)) != pages:
        raise RuntimeError(f"{table} has {made} pages instead of {pages}")


def random_blocks(seed: str, blocks: int, count: int) -> list[int]:
    """Returns random blocks, the same for the same seed; each at most once if there are enough."""
    source = random.Random(seed)
    if count <= blocks:
        return source.sample(range(blocks), count)
    return [source.randrange(blocks) for _ in range(count)]


def residency(connection: psycopg.Connection, table: str) -> dict[str, int]:
    """Returns the blocks of the table's main fork in each cache, from the extension."""
    row = connection.execute(
        """SELECT blocks, shared_blocks, os_blocks, both_blocks, blocks - shared_blocks - os_blocks + both_blocks
           FROM pgbufprobe_residency(%s::regclass) WHERE fork = 'main'""",
        [table],
    ).fetchone()
    assert row
    if row[2] is None:
        raise RuntimeError(f"page cache state of {table} is unavailable on this file system")
    return dict(zip(("blocks", "shared", "os", "both", "neither"), row, strict=True))


def read_cost(connection: psycopg.Connection, table: str, samples: int) -> list[tuple[str, int, dict[str, float]]]:
    """Returns tier, number of reads and times, from the extension."""
    rows = connection.execute(
        "SELECT tier, reads, avg_us, p99_us FROM pgbufprobe_read_cost(%s::regclass, %s) "
        "WHERE tier IS NOT NULL AND reads > 0",
        [table, samples],
    ).fetchall()
    return [(tier, count, {"avg": avg, "p99": p99}) for tier, count, avg, p99 in rows]


def predicted_storage_shares(connection: psycopg.Connection) -> dict[int, float]:
    """Returns the predicted share of block accesses that wait for storage, by shared_buffers in bytes, if the page
    cache loses what the pool gains. Unknown sizes are absent."""
    return dict(
        connection.execute(
            "SELECT shared_buffers_bytes, storage_ratio FROM pgbufprobe_advice() WHERE storage_ratio IS NOT NULL"
        ).fetchall()
    )
