"""A7: how much memory does double buffering waste?"""

import statistics
from typing import Any

from .. import reads
from ..lab import Lab, Step, trials
from ..plan import Plan
from ..sizes import BLOCK, GB

TABLE_SHARE = 1.2       # of the memory
READS = 1000
RANGES = tuple(range(10, 101, 10))


class A7:
    name = "A7"
    asks = "How much memory does double buffering waste?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return trials(plan, plan.pools, 5 + 22 * plan.profile.a7_warming * plan.memory / GB)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"pools": plan.pools, "table_bytes": self._pages(plan) * BLOCK, "reads": READS, "ranges": RANGES,
                "warming_reads_per_page": plan.profile.a7_warming}

    @staticmethod
    def _pages(plan: Plan) -> int:
        return int(plan.memory * TABLE_SHARE) // BLOCK

    def prepare(self, lab: Lab) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "pages", self._pages(lab.plan))

    def measure(self, lab: Lab, step: Step) -> None:
        total = self._pages(lab.plan)
        with lab.server(step.pool_bytes) as server, server.connect() as connection:
            with reads.Reader(connection, "pages") as reader:
                reader.warm_up()
                loaded = 0
                for percent in RANGES:
                    pages = total * percent // 100
                    # What is new in this range, and then reads all over it until both caches hold what they will.
                    reads.load_range(connection, "pages", loaded, pages - loaded)
                    reads.load_random(connection, "pages", 0, pages, int(pages * lab.plan.profile.a7_warming))
                    loaded = pages
                    blocks = reads.chosen(f"{step.key}/{percent}", pages, READS)
                    self._record(lab, percent, [reader.read(block) for block in blocks])
                    held = reads.residency(connection, "pages")
                    for cache in ("shared", "os", "both"):
                        lab.sample(f"{cache}_bytes", held[cache] * BLOCK, "bytes", percent)

    @staticmethod
    def _record(lab: Lab, percent: int, found: list[reads.Read]) -> None:
        count = len(found)
        lab.sample("mean_ms", statistics.fmean(read.ms for read in found), "ms", percent)
        lab.sample("pool_miss_share", sum(read.tier != reads.SHARED for read in found) / count, "share", percent)
        lab.sample("storage_share", sum(read.tier == reads.STORAGE for read in found) / count, "share", percent)


SCENARIO = A7()
