"""A1: is a page found faster in a small pool?"""

from typing import Any

from pgbufprobe_lab.measure import reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial, steps_by_trial
from pgbufprobe_lab.sizes import BLOCK

TABLE_SHARE = 0.9  # of the pool
READS = 100


class A1:
    name = "A1"
    asks = "Is a page found faster in a small pool?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return steps_by_trial(plan, plan.pools, 1.0)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"pools": plan.pools, "table_share_of_pool": TABLE_SHARE, "reads": READS}

    def prepare(self, lab: Laboratory) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "pages", self._pages(lab.plan.pools["large"]))

    @staticmethod
    def _pages(pool_bytes: int) -> int:
        return int(pool_bytes * TABLE_SHARE) // BLOCK

    def measure(self, trial: Trial) -> None:
        # One table serves all pools: each reads as many pages as 90 % of it can hold.
        pages = self._pages(trial.step.pool_bytes)
        with trial.server() as server, server.connect() as connection:
            reads.load_range(connection, "pages", 0, pages)
            with reads.Reader(connection, "pages") as reader:
                reader.warm_up()
                for number, block in enumerate(reads.random_blocks(trial.step.key, pages, READS), 1):
                    read = reader.read(block)
                    if read.tier != reads.SHARED:
                        raise RuntimeError(f"page {block} was not in the pool after loading")
                    trial.sample("hit_ms", read.ms, "ms", number)
            for tier, count, times in reads.read_cost(connection, "pages", 1000):
                for stat, value in times.items():
                    trial.sample("read_cost_us", value, "us", tier=tier, stat=stat, reads=count)


SCENARIO = A1()
