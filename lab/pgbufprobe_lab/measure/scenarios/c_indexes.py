"""C: what do indexes cost an INSERT, in a pool that holds them and in one that does not?"""

from typing import Any

from pgbufprobe_lab.measure import reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial
from pgbufprobe_lab.sizes import MB, whole_blocks

PUBLISHED_ROWS = 10_000_000
PUBLISHED_POOLS = {"small": 128 * MB, "large": 2048 * MB}
INDEXES = range(6)
ORDERS = {
    "ascending": "i",
    "descending": "{rows} - i",
    "constant": "1",
    "random": "(random() * {rows})::integer",
}


class C:
    name = "C"
    asks = "What do indexes cost an INSERT, in a pool that holds them and in one that does not?"
    limited = False
    oldest_major = 15

    def _pools(self, plan: Plan) -> dict[str, int]:
        scale = plan.profile.insert_rows / PUBLISHED_ROWS
        return {name: whole_blocks(size * scale) for name, size in PUBLISHED_POOLS.items()}

    def steps(self, plan: Plan) -> list[Step]:
        rows = plan.profile.insert_rows
        return [
            Step(
                f"{order}/{indexes}/{pool}",
                pool,
                size,
                1,
                0.6 + rows * (1 + 2 * indexes) / 1_500_000,
                {"values": order, "indexes": indexes},
            )
            for order in ORDERS
            for indexes in INDEXES
            for pool, size in self._pools(plan).items()
        ]

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "rows": plan.profile.insert_rows,
            "pools": self._pools(plan),
            "published_rows": PUBLISHED_ROWS,
            "published_pools": PUBLISHED_POOLS,
            "columns": 5,
        }

    def prepare(self, lab: Laboratory) -> None:
        """Each step creates its own table."""

    def measure(self, trial: Trial) -> None:
        rows, order, indexes = trial.plan.profile.insert_rows, trial.args["values"], trial.args["indexes"]
        # A pool of a few megabytes is too small for the pins of a hundred connections.
        with trial.server({"max_connections": 10}) as server, server.connect() as connection:
            connection.execute("DROP TABLE IF EXISTS numbers")
            connection.execute("CREATE TABLE numbers (c1 integer, c2 integer, c3 integer, c4 integer, c5 integer)")
            for number in range(1, indexes + 1):
                connection.execute(f"CREATE INDEX ON numbers (c{number})")
            value = ORDERS[order].format(rows=rows)
            columns = ", ".join([value] * 5)
            plan = reads.explain_analyze(
                connection, f"INSERT INTO numbers SELECT {columns} FROM generate_series(1, {rows}) AS i"
            )
            trial.sample("seconds", plan["Execution Time"] / 1000, "s", indexes, order=order)
            for what in ("hit", "read", "dirtied", "written"):
                blocks = plan["Plan"][f"Shared {what.capitalize()} Blocks"]
                trial.sample(what, blocks, "blocks", indexes, order=order)
            sizes = connection.execute("SELECT pg_indexes_size('numbers'), pg_relation_size('numbers')").fetchone()
            assert sizes
            trial.sample("index_bytes", sizes[0], "bytes", indexes, order=order)
            trial.sample("table_bytes", sizes[1], "bytes", indexes, order=order)


SCENARIO = C()
