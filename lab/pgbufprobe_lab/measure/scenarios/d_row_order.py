"""D: how much does the second run of a query read, and how does the order of rows change that?"""

from typing import Any

import psycopg

from pgbufprobe_lab.measure import reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial
from pgbufprobe_lab.sizes import MB

P_IDS, C_IDS = 10_000, 200
POOLS = {"small": 128 * MB, "large": 1024 * MB}
QUERIES = ("c_id = 1", "c_id < 150")
TABLES = {"p_id": "by_p_id", "c_id": "by_c_id"}


class D:
    name = "D"
    asks = "How much does the second run of a query read, and how does the order of rows change that?"
    limited = False
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return [
            Step(f"{trial}/{pool}", pool, size, trial, 3.0)
            for trial in range(1, plan.runs + 1)
            for pool, size in POOLS.items()
        ]

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"rows": P_IDS * C_IDS, "p_ids": P_IDS, "c_ids": C_IDS, "pools": POOLS, "runs": plan.runs}

    def prepare(self, lab: Laboratory) -> None:
        with lab.loading() as connection:
            for order, table in TABLES.items():
                other = "c_id" if order == "p_id" else "p_id"
                # Rows of about 80 bytes: 20,000 pages, as published.
                connection.execute(f"CREATE TABLE {table} (id integer, p_id integer, c_id integer, filler char(36))")
                connection.execute(
                    f"INSERT INTO {table} SELECT row_number() OVER (), p_id, c_id, 'x' FROM "
                    f"(SELECT p_id, c_id FROM generate_series(1, {P_IDS}) AS p_id, generate_series(1, {C_IDS}) AS c_id "
                    f"ORDER BY {order}, {other}) AS numbers"
                )
                connection.execute(f"CREATE INDEX {table}_c_id ON {table} (c_id)")
                connection.execute(f"VACUUM (FREEZE, ANALYZE) {table}")

    def measure(self, trial: Trial) -> None:
        for query in QUERIES:
            # A server for each query, so that each begins with cold caches. An index-only scan, possible after
            # VACUUM, would not depend on the order of rows.
            settings = {"jit": "off", "enable_indexonlyscan": "off"}
            with trial.server(settings) as server, server.connect() as connection:
                for order, table in TABLES.items():
                    for run in (1, 2):
                        self._count(trial, connection, table, order, query, run)

    @staticmethod
    def _blocks(connection: psycopg.Connection, table: str) -> tuple[int, int]:
        connection.execute("SELECT pg_stat_force_next_flush()")
        row = connection.execute(
            "SELECT heap_blks_read, heap_blks_hit FROM pg_statio_user_tables WHERE relname = %s", [table]
        ).fetchone()
        assert row
        return row

    def _count(
        self, trial: Trial, connection: psycopg.Connection, table: str, order: str, query: str, run: int
    ) -> None:
        read, hit = self._blocks(connection, table)
        plan = reads.explain_analyze(connection, f"SELECT count(*) FROM {table} WHERE {query}")
        read_after, hit_after = self._blocks(connection, table)
        trial.sample("ms", plan["Execution Time"], "ms", run, query=query, order=order)
        trial.sample("heap_blks_read", read_after - read, "blocks", run, query=query, order=order)
        trial.sample("heap_blks_hit", hit_after - hit, "blocks", run, query=query, order=order)


SCENARIO = D()
