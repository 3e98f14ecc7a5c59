"""A8: what does one big sequential scan do to each cache?"""

import statistics
import time
from contextlib import contextmanager
from typing import Any, Iterator

import psycopg

from .. import reads
from ..lab import Lab, Step, trials
from ..plan import Plan
from ..sizes import BLOCK, GB

TABLE1_SHARE = 0.5      # of the memory: 8 GB of 16
TABLE2_SHARE = 5 / 16
IN_POOL = 0.48          # of table 1, by the small pool: half, with some room for the catalogs
READS_BEFORE = 1000
READ_COST_SAMPLES = 500


class A8:
    name = "A8"
    asks = "What does one big sequential scan do to each cache?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return trials(plan, {name: plan.pools[name] for name in ("small", "large")}, 2 + 12 * plan.memory / GB)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"table1_bytes": self._pages(plan, TABLE1_SHARE) * BLOCK,
                "table2_bytes": self._pages(plan, TABLE2_SHARE) * BLOCK, "reads_before": READS_BEFORE,
                "reads_after": self._pages(plan, TABLE1_SHARE)}

    @staticmethod
    def _pages(plan: Plan, share: float) -> int:
        return int(plan.memory * share) // BLOCK

    def prepare(self, lab: Lab) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "table1", self._pages(lab.plan, TABLE1_SHARE))
            reads.make_pages(connection, "table2", self._pages(lab.plan, TABLE2_SHARE))

    def measure(self, lab: Lab, step: Step) -> None:
        pages = self._pages(lab.plan, TABLE1_SHARE)
        # Reads that are timed before the scan would change what it finds: they have a server of their own.
        with lab.server(step.pool_bytes) as server, server.connect() as connection:
            with self._loaded(step, connection, pages) as reader:
                self._record_residency(lab, connection, "before")
                self._record_reads(lab, "before", reader, reads.chosen(f"{step.key}/before", pages, READS_BEFORE))
        with lab.server(step.pool_bytes) as server, server.connect() as connection:
            with self._loaded(step, connection, pages) as reader:
                begun = time.monotonic()
                connection.execute("SET enable_seqscan = on")
                connection.execute("SELECT count(*) FROM table2")
                lab.sample("scan_seconds", time.monotonic() - begun, "s")
                self._record_residency(lab, connection, "after")
                self._record_reads(lab, "after", reader, reading_order(pages))
            for tier, count, times in reads.read_cost(connection, "table1", READ_COST_SAMPLES):
                for stat, value in times.items():
                    lab.sample("read_cost_us", value, "us", tier=tier, stat=stat, reads=count, moment="after")

    @contextmanager
    def _loaded(self, step: Step, connection: psycopg.Connection, pages: int) -> Iterator[reads.Reader]:
        """Table 1 in the large pool; half of it in the small one, and all of it below. Each page is read once:
        the kernel protects what is read twice."""
        half = in_pool(pages)
        with reads.Reader(connection, "table1") as reader:
            reader.warm_up()
            if step.pool == "large":
                reads.load_range(connection, "table1", 0, pages)
            else:
                reads.load_os_cache(connection, "table1", half, pages - half, backwards=True)
                reads.load_range(connection, "table1", 0, half)
            yield reader

    @staticmethod
    def _record_residency(lab: Lab, connection: psycopg.Connection, moment: str) -> None:
        for table in ("1", "2"):
            held = reads.residency(connection, f"table{table}")
            for cache in ("shared", "os", "both"):
                lab.sample(f"{cache}_bytes", held[cache] * BLOCK, "bytes", table=table, moment=moment)
            if table == "1":
                for tier, blocks in served_by(held).items():
                    lab.sample("share", blocks / held["blocks"], "share", tier=tier, moment=moment, method="residency")

    @staticmethod
    def _record_reads(lab: Lab, moment: str, reader: reads.Reader, blocks: list[int]) -> None:
        found = [reader.read(block) for block in blocks]
        lab.sample("mean_ms", statistics.fmean(r.ms for r in found), "ms", tier="all", moment=moment, reads=len(found))
        for tier in (reads.SHARED, reads.OS, reads.STORAGE):
            times = [read.ms for read in found if read.tier == tier]
            lab.sample("share", len(times) / len(found), "share", tier=tier, moment=moment, method="reads")
            if times:
                lab.sample("mean_ms", statistics.fmean(times), "ms", tier=tier, moment=moment, reads=len(times))


def in_pool(pages: int) -> int:
    """How many of the first pages the small pool has. Were there one too many, each miss would push out the page
    that is read next, and none would be found."""
    return int(pages * IN_POOL)


def reading_order(pages: int) -> list[int]:
    """Page by page as published, first the half that the small pool has. The other half is read from its last page
    to its first: forwards, the kernel reads ahead, and what it fetched with the page before would look like something
    that it had kept."""
    half = in_pool(pages)
    return [*range(half), *range(pages - 1, half - 1, -1)]


def served_by(held: dict[str, int]) -> dict[str, int]:
    """Blocks by the first cache that has them."""
    return {reads.SHARED: held["shared"], reads.OS: held["os"] - held["both"], reads.STORAGE: held["neither"]}


SCENARIO = A8()
