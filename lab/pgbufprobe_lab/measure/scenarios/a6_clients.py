"""A6: does the size of the pool change how reads scale with the number of clients?"""

from typing import Any

from pgbufprobe_lab.measure import pgbench, reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.server import Server
from pgbufprobe_lab.measure.trial import Step, Trial
from pgbufprobe_lab.sizes import BLOCK, GB

CLIENTS = (1, 2, 4, 8)
POOLS = ("small", "large")
HIT_SHARE = 0.9  # of the pool, as in A1
OS_SHARE = 0.45  # of the memory, as in A3


class A6:
    name = "A6"
    asks = "Does the size of the pool change how reads scale with the number of clients?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        seconds = 2.5 + plan.memory / GB + 2 * len(CLIENTS) * (plan.profile.seconds + 0.4)
        return [
            Step(f"{trial}/{pool}", pool, plan.pools[pool], trial, seconds)
            for trial in range(1, plan.trials + 1)
            for pool in POOLS
        ]

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "pools": {p: plan.pools[p] for p in POOLS},
            "clients": CLIENTS,
            "seconds": plan.profile.seconds,
            "hit_table_share_of_pool": HIT_SHARE,
            "os_table_share_of_memory": OS_SHARE,
        }

    @staticmethod
    def _pages(plan: Plan, pool_bytes: int) -> dict[str, int]:
        return {"hit": int(pool_bytes * HIT_SHARE) // BLOCK, "os": int(plan.memory * OS_SHARE) // BLOCK}

    def prepare(self, lab: Laboratory) -> None:
        most = max(self._pages(lab.plan, lab.plan.pools["large"]).values())
        with lab.loading() as connection:
            reads.make_pages(connection, "pages", most)

    def measure(self, trial: Trial) -> None:
        # The background writer reports allocations once per round. Those of loading must not count later.
        with trial.server({"bgwriter_delay": "10ms"}) as server:
            for case, pages in self._pages(trial.plan, trial.step.pool_bytes).items():
                with server.connect() as connection:
                    if case == "os":
                        reads.load_page_cache(connection, "pages", 0, pages)
                    reads.load_range(connection, "pages", 0, pages)
                    connection.execute("SELECT pg_sleep(0.1)")
                for clients in CLIENTS:
                    self._run_pgbench(trial, server, case, pages, clients)

    @staticmethod
    def _hits(server: Server) -> tuple[int, int]:
        with server.connect() as connection:
            row = connection.execute(
                "SELECT heap_blks_hit, heap_blks_read FROM pg_statio_user_tables WHERE relname = 'pages'"
            ).fetchone()
        assert row
        return row

    def _run_pgbench(self, trial: Trial, server: Server, case: str, pages: int, clients: int) -> None:
        script = pgbench.script_file(
            server, "a6", f"\\set block random(0, {pages - 1})\nSELECT filler FROM pages WHERE ctid = '(:block,1)';\n"
        )
        hit, read = self._hits(server)
        pgbench.record(trial, server, clients, trial.plan.profile.seconds, "-f", script, case=case)
        hit_after, read_after = self._hits(server)
        hits, misses = hit_after - hit, read_after - read
        if hits + misses:
            trial.sample("hit_share", hits / (hits + misses), "share", clients, case=case)


SCENARIO = A6()
