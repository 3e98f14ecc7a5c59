"""A3: what does a hit in the page cache cost, compared with one in the pool?"""

from typing import Any

from pgbufprobe_lab.measure import reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial, steps_by_trial
from pgbufprobe_lab.sizes import BLOCK, GB

READS = 100
TABLE_SHARE = 0.45  # of the memory: nearly twice the small pool, and less than the large one


class A3:
    name = "A3"
    asks = "What does a hit in the page cache cost, compared with a hit in the pool?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        pools = {name: plan.pools[name] for name in ("small", "large")}
        return steps_by_trial(plan, pools, 1.2 + plan.memory / GB)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"table_share_of_memory": TABLE_SHARE, "table_bytes": self._pages(plan) * BLOCK, "reads": READS}

    @staticmethod
    def _pages(plan: Plan) -> int:
        return int(plan.memory * TABLE_SHARE) // BLOCK

    def prepare(self, lab: Laboratory) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "pages", self._pages(lab.plan))

    def measure(self, trial: Trial) -> None:
        pages = self._pages(trial.plan)
        half = pages // 2
        with trial.server() as server, server.connect() as connection:
            # The second half is measured. The large pool holds it; with the small pool, only the page cache does.
            if trial.step.pool == "large":
                reads.load_range(connection, "pages", 0, pages)
            else:
                reads.load_range(connection, "pages", 0, half)
                reads.load_page_cache(connection, "pages", half, pages - half)
            with reads.Reader(connection, "pages") as reader:
                reader.warm_up()
                first = half + (trial.step.trial or 0) * READS % (half - READS)
                for number, block in enumerate(range(first, first + READS), 1):
                    read = reader.read(block)
                    trial.sample("read_ms", read.ms, "ms", number, tier=read.tier)
            for tier, count, times in reads.read_cost(connection, "pages", 1000):
                for stat, value in times.items():
                    trial.sample("read_cost_us", value, "us", tier=tier, stat=stat, reads=count)


SCENARIO = A3()
