"""A3: what does a hit in the OS cache cost, against one in the pool?"""

from typing import Any

from .. import reads
from ..lab import Lab, Step, trials
from ..plan import Plan
from ..sizes import BLOCK, GB

READS = 100
TABLE_SHARE = 0.45      # of the memory: nearly twice the small pool, and it fits the large one


class A3:
    name = "A3"
    asks = "What does a hit in the OS cache cost, against a hit in the pool?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        pools = {name: plan.pools[name] for name in ("small", "large")}
        return trials(plan, pools, 1.2 + plan.memory / GB)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"table_share_of_memory": TABLE_SHARE, "table_bytes": self._pages(plan) * BLOCK, "reads": READS}

    @staticmethod
    def _pages(plan: Plan) -> int:
        return int(plan.memory * TABLE_SHARE) // BLOCK

    def prepare(self, lab: Lab) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "pages", self._pages(lab.plan))

    def measure(self, lab: Lab, step: Step) -> None:
        pages = self._pages(lab.plan)
        half = pages // 2
        with lab.server(step.pool_bytes) as server, server.connect() as connection:
            # The second half is read: in the pool of the large server, below the pool of the small one.
            if step.pool == "large":
                reads.load_range(connection, "pages", 0, pages)
            else:
                reads.load_range(connection, "pages", 0, half)
                reads.load_os_cache(connection, "pages", half, pages - half)
            with reads.Reader(connection, "pages") as reader:
                reader.warm_up()
                first = half + (step.trial or 0) * READS % (half - READS)
                for number, block in enumerate(range(first, first + READS), 1):
                    read = reader.read(block)
                    lab.sample("read_ms", read.ms, "ms", number, tier=read.tier)
            for tier, count, times in reads.read_cost(connection, "pages", 1000):
                for stat, value in times.items():
                    lab.sample("read_cost_us", value, "us", tier=tier, stat=stat, reads=count)


SCENARIO = A3()
