"""E4: what does a BRIN index cost, and where does it help?"""

import random
import time
from collections.abc import Iterator
from typing import Any

import psycopg

from pgbufprobe_lab.measure import reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.server import Settings
from pgbufprobe_lab.measure.trial import Step, Trial

PUBLISHED_ROWS = 120_000_000
PAGES_PER_RANGE = (1, 128, 12800)
PARTITIONS = 10
RANGE_SHARE = 0.01  # of the keys in a range read
READS = 5  # of one key and of a range, for each index
ORDERS = {"sorted": "key", "random": "hashint8(key), key"}
# 9.5 had no parallel index build.
SETTINGS: Settings = {"maintenance_work_mem": "256MB", "max_parallel_maintenance_workers": 0}


class E4:
    name = "E4"
    asks = "What does a BRIN index cost, and where does it help?"
    limited = False
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        seconds = 1.5 + plan.profile.brin_rows / 300_000
        return [
            Step(f"{trial}/{order}", None, plan.pools["large"], trial, seconds, {"order": order})
            for trial in range(1, plan.runs + 1)
            for order in ORDERS
        ]

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "rows": plan.profile.brin_rows,
            "pages_per_range": PAGES_PER_RANGE,
            "partitions": PARTITIONS,
            "range_share": RANGE_SHARE,
            "reads": READS,
            "pool": plan.pools["large"],
            "published_rows": PUBLISHED_ROWS,
            **SETTINGS,
        }

    def prepare(self, lab: Laboratory) -> None:
        rows = lab.plan.profile.brin_rows
        with lab.loading() as connection:
            for order, sorting in ORDERS.items():
                columns = "(key bigint, filler char(40))"
                source = f"SELECT key, '' FROM generate_series(1, {rows}::bigint) AS key ORDER BY {sorting}"
                connection.execute(f"CREATE TABLE plain_{order} {columns}")
                connection.execute(f"INSERT INTO plain_{order} {source}")
                connection.execute(f"CREATE TABLE parts_{order} {columns} PARTITION BY RANGE (key)")
                for number in range(PARTITIONS):
                    first, end = 1 + rows * number // PARTITIONS, 1 + rows * (number + 1) // PARTITIONS
                    connection.execute(
                        f"CREATE TABLE parts_{order}_{number} PARTITION OF parts_{order} "
                        f"FOR VALUES FROM ({first}) TO ({end})"
                    )
                connection.execute(f"INSERT INTO parts_{order} SELECT * FROM plain_{order}")
                connection.execute(f"VACUUM (FREEZE, ANALYZE) plain_{order}, parts_{order}")

    def measure(self, trial: Trial) -> None:
        order = trial.args["order"]
        keys = list(self._keys(trial.plan.profile.brin_rows, trial.step.key))
        with trial.server(SETTINGS) as server, server.connect() as connection:
            # Read the table first, so that all index builds find it cached.
            connection.execute(f"SELECT count(*) FROM plain_{order}")
            self._read(trial, connection, f"plain_{order}", keys, None, order=order, index="none")
            self._index(trial, connection, "btree (key)", keys, None, order=order, index="btree")
            for pages in PAGES_PER_RANGE:
                how = f"brin (key) WITH (pages_per_range = {pages})"
                self._index(trial, connection, how, keys, pages, order=order, index="brin")
            connection.execute(f"SELECT count(*) FROM parts_{order}")
            self._read(trial, connection, f"parts_{order}", keys, None, order=order, index="partitions")

    @staticmethod
    def _keys(rows: int, seed: str) -> Iterator[tuple[int, int]]:
        """Yields the first and the last key of random ranges."""
        chance = random.Random(seed)
        width = max(1, int(rows * RANGE_SHARE))
        for _ in range(READS):
            first = chance.randint(1, rows - width + 1)
            yield first, first + width - 1

    def _index(
        self,
        trial: Trial,
        connection: psycopg.Connection,
        how: str,
        keys: list[tuple[int, int]],
        pages: int | None,
        **fields: str,
    ) -> None:
        begun = time.monotonic()
        connection.execute(f"CREATE INDEX key_index ON plain_{fields['order']} USING {how}")
        trial.sample("build_seconds", time.monotonic() - begun, "s", pages, **fields)
        row = connection.execute("SELECT pg_relation_size('key_index')").fetchone()
        assert row
        trial.sample("index_bytes", row[0], "bytes", pages, **fields)
        self._read(trial, connection, f"plain_{fields['order']}", keys, pages, **fields)
        connection.execute("DROP INDEX key_index")

    @staticmethod
    def _read(
        trial: Trial,
        connection: psycopg.Connection,
        table: str,
        keys: list[tuple[int, int]],
        pages: int | None,
        **fields: str,
    ) -> None:
        for first, last in keys:
            for what, condition in (("point_ms", f"key = {first}"), ("range_ms", f"key BETWEEN {first} AND {last}")):
                plan = reads.explain_analyze(connection, f"SELECT count(filler) FROM {table} WHERE {condition}")
                trial.sample(what, plan["Execution Time"], "ms", pages, **fields)


SCENARIO = E4()
