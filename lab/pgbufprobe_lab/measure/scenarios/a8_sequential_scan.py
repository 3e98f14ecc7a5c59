"""A8: what does one large sequential scan do to each cache?"""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from pgbufprobe_lab.measure import reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial, steps_by_trial
from pgbufprobe_lab.sizes import BLOCK, GB

TABLE1_SHARE = 0.5  # of the memory: 8 GB of 16
TABLE2_SHARE = 5 / 16
IN_POOL = 0.48  # share of table 1 in the small pool: half of it, less room for the catalogs
READS_BEFORE = 1000
READ_COST_SAMPLES = 500


class A8:
    name = "A8"
    asks = "What does one large sequential scan do to each cache?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return steps_by_trial(plan, {name: plan.pools[name] for name in ("small", "large")}, 2 + 12 * plan.memory / GB)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "table1_bytes": self._pages(plan, TABLE1_SHARE) * BLOCK,
            "table2_bytes": self._pages(plan, TABLE2_SHARE) * BLOCK,
            "reads_before": READS_BEFORE,
            "reads_after": self._pages(plan, TABLE1_SHARE),
        }

    @staticmethod
    def _pages(plan: Plan, share: float) -> int:
        return int(plan.memory * share) // BLOCK

    def prepare(self, lab: Laboratory) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "table1", self._pages(lab.plan, TABLE1_SHARE))
            reads.make_pages(connection, "table2", self._pages(lab.plan, TABLE2_SHARE))

    def measure(self, trial: Trial) -> None:
        pages = self._pages(trial.plan, TABLE1_SHARE)
        # Timed reads would change the caches that the scan meets, so those before it use another server.
        with trial.server() as server, server.connect() as connection:
            with self._loaded(trial, connection, pages) as reader:
                self._record_residency(trial, connection, "before")
                self._record_reads(
                    trial, "before", reader, reads.random_blocks(f"{trial.step.key}/before", pages, READS_BEFORE)
                )
        with trial.server() as server, server.connect() as connection:
            with self._loaded(trial, connection, pages) as reader:
                begun = time.monotonic()
                connection.execute("SET enable_seqscan = on")
                connection.execute("SELECT count(*) FROM table2")
                trial.sample("scan_seconds", time.monotonic() - begun, "s")
                self._record_residency(trial, connection, "after")
                self._record_reads(trial, "after", reader, reading_order(pages))
            for tier, count, times in reads.read_cost(connection, "table1", READ_COST_SAMPLES):
                for stat, value in times.items():
                    trial.sample("read_cost_us", value, "us", tier=tier, stat=stat, reads=count, moment="after")

    @contextmanager
    def _loaded(self, trial: Trial, connection: psycopg.Connection, pages: int) -> Iterator[reads.Reader]:
        """Loads all of table 1 into the large pool, or half of it into the small pool and the rest into the page
        cache. Each page is read once, because the kernel protects pages that are read twice."""
        half = in_pool(pages)
        with reads.Reader(connection, "table1") as reader:
            reader.warm_up()
            if trial.step.pool == "large":
                reads.load_range(connection, "table1", 0, pages)
            else:
                reads.load_page_cache(connection, "table1", half, pages - half, backwards=True)
                reads.load_range(connection, "table1", 0, half)
            yield reader

    @staticmethod
    def _record_residency(trial: Trial, connection: psycopg.Connection, moment: str) -> None:
        for table in ("1", "2"):
            held = reads.residency(connection, f"table{table}")
            for cache in ("shared", "os", "both"):
                trial.sample(f"{cache}_bytes", held[cache] * BLOCK, "bytes", table=table, moment=moment)
            if table == "1":
                for tier, blocks in served_by(held).items():
                    trial.sample(
                        "share", blocks / held["blocks"], "share", tier=tier, moment=moment, method="residency"
                    )

    @staticmethod
    def _record_reads(trial: Trial, moment: str, reader: reads.Reader, blocks: list[int]) -> None:
        found = [reader.read(block) for block in blocks]
        trial.sample(
            "mean_ms", statistics.fmean(r.ms for r in found), "ms", tier="all", moment=moment, reads=len(found)
        )
        for tier in (reads.SHARED, reads.PAGE_CACHE, reads.STORAGE):
            times = [read.ms for read in found if read.tier == tier]
            trial.sample("share", len(times) / len(found), "share", tier=tier, moment=moment, method="reads")
            if times:
                trial.sample("mean_ms", statistics.fmean(times), "ms", tier=tier, moment=moment, reads=len(times))


def in_pool(pages: int) -> int:
    """Returns how many of the first pages the small pool holds. With one page too many, each miss would evict the
    page that is read next, and there would be no hit."""
    return int(pages * IN_POOL)


def reading_order(pages: int) -> list[int]:
    """Returns all pages in the order they are read: as published, but the half that is not in the small pool
    backwards. Forwards, pages from the kernel's readahead would count as hits in the page cache."""
    half = in_pool(pages)
    return [*range(half), *range(pages - 1, half - 1, -1)]


def served_by(held: dict[str, int]) -> dict[str, int]:
    """Returns the number of blocks by the first cache that holds them."""
    return {reads.SHARED: held["shared"], reads.PAGE_CACHE: held["os"] - held["both"], reads.STORAGE: held["neither"]}


SCENARIO = A8()
