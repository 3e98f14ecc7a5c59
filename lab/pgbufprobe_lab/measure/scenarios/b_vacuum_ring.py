"""B: what does the ring size of VACUUM change (vacuum_buffer_usage_limit, PostgreSQL 16 and later)?"""

import time
from pathlib import Path
from typing import Any

import psycopg

from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.server import Server
from pgbufprobe_lab.measure.trial import Step, Trial
from pgbufprobe_lab.sizes import BLOCK, GB, KB

PUBLISHED_ROWS = 10_000_000
ROW_BYTES = 250  # with both indexes: 2.5 GB published
PUBLISHED_LIMITS = (256 * KB, 2 * GB, 10 * GB)
POOL_SHARE = 0.5  # of the memory
RELATIONS = ("items", "items_pkey", "items_text")


class B:
    name = "B"
    asks = "What does a larger ring (vacuum_buffer_usage_limit) change for VACUUM and for the checkpoint after it?"
    limited = True
    oldest_major = 16

    def _pool(self, plan: Plan) -> int:
        return int(plan.memory * POOL_SHARE) // BLOCK * BLOCK

    def _rows(self, plan: Plan) -> int:
        """Returns how many rows fit the largest ring, which the server limits to an eighth of the pool."""
        return min(PUBLISHED_ROWS, int(self._pool(plan) / 8 / 1.25 / ROW_BYTES))

    def _limits(self, plan: Plan) -> list[int]:
        """The smallest ring is as published, the others have the published ratios to the data, 0.8 and 4."""
        data = self._rows(plan) * ROW_BYTES
        largest = min(int(data * 4), self._pool(plan) // 8)
        return [PUBLISHED_LIMITS[0], int(data * 0.8) // KB * KB, largest // KB * KB]

    def steps(self, plan: Plan) -> list[Step]:
        pool = self._pool(plan)
        seconds = 3 + self._rows(plan) / 50_000
        return [
            Step(f"{trial}/{number}", None, pool, trial, seconds, {"ring": f"{limit // KB} kB", "bytes": limit})
            for trial in range(1, plan.runs + 1)
            for number, limit in enumerate(self._limits(plan))
        ]

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "rows": self._rows(plan),
            "limits": self._limits(plan),
            "published_limits": PUBLISHED_LIMITS,
            "published_rows": PUBLISHED_ROWS,
            "runs": plan.runs,
        }

    def prepare(self, lab: Laboratory) -> None:
        rows = self._rows(lab.plan)
        with lab.loading() as connection:
            connection.execute("CREATE TABLE items (id serial PRIMARY KEY, text text)")
            connection.execute(f"INSERT INTO items (text) SELECT md5(i::text) FROM generate_series(1, {rows}) AS i")
            connection.execute("CREATE INDEX items_text ON items (text)")
            connection.execute("VACUUM (FREEZE, ANALYZE) items")
            connection.execute(f"UPDATE items SET text = md5(text) WHERE id <= {rows // 2}")
        lab.cluster.save(self._updated(lab))

    @staticmethod
    def _updated(lab: Laboratory) -> Path:
        return lab.installation.work / "data-updated"

    def measure(self, trial: Trial) -> None:
        # Each VACUUM begins with the same files.
        trial.laboratory.cluster.restore(self._updated(trial.laboratory))
        limit = trial.args["bytes"]
        settings = {"vacuum_cost_delay": 0, "bgwriter_lru_maxpages": 0, "maintenance_work_mem": "64MB"}
        with trial.server(settings) as server, server.connect() as connection:
            self._record_buffers(trial, connection, limit, "before")
            connection.execute(f"SET vacuum_buffer_usage_limit = '{limit // KB}kB'")
            writes = self._writes(server)
            begun = time.monotonic()
            # One process only, so that it does all writes.
            connection.execute("VACUUM (PARALLEL 0) items")
            trial.sample("vacuum_seconds", time.monotonic() - begun, "s", limit)
            self._flush_statistics(connection)
            count = self._writes(server) - writes
            trial.sample("vacuum_writes", count, "writes", limit)
            trial.sample("vacuum_write_bytes", count * BLOCK, "bytes", limit)
            self._record_buffers(trial, connection, limit, "after")
            written = self._checkpointed(connection)
            begun = time.monotonic()
            connection.execute("CHECKPOINT")
            trial.sample("checkpoint_seconds", time.monotonic() - begun, "s", limit)
            trial.sample(
                "checkpoint_buffers", self._await_checkpointed(connection, written) - written, "buffers", limit
            )
            self._record_buffers(trial, connection, limit, "checkpointed")

    @staticmethod
    def _flush_statistics(connection: psycopg.Connection) -> None:
        connection.execute("SELECT pg_stat_force_next_flush()")
        connection.execute("SELECT 1")

    @staticmethod
    def _writes(server: Server) -> int:
        """Returns the blocks written by client backends; VACUUM is the only one that writes."""
        with server.connect() as connection:
            row = connection.execute(
                "SELECT coalesce(sum(writes), 0)::bigint FROM pg_stat_io "
                "WHERE backend_type = 'client backend' AND object = 'relation'"
            ).fetchone()
        assert row
        return row[0]

    @staticmethod
    def _checkpointed(connection: psycopg.Connection) -> int:
        """Returns the buffers written by checkpoints, from the view of this major version."""
        newer = connection.info.server_version >= 170000
        column, view = (
            ("buffers_written", "pg_stat_checkpointer") if newer else ("buffers_checkpoint", "pg_stat_bgwriter")
        )
        row = connection.execute(f"SELECT {column} FROM {view}").fetchone()
        assert row
        return row[0]

    def _await_checkpointed(self, connection: psycopg.Connection, before: int) -> int:
        """Waits for the checkpointer's statistics, which follow the command with a delay, or not at all if nothing
        was written."""
        until = time.monotonic() + 1
        while (now := self._checkpointed(connection)) == before and time.monotonic() < until:
            time.sleep(0.05)
        return now

    @staticmethod
    def _record_buffers(trial: Trial, connection: psycopg.Connection, limit: int, moment: str) -> None:
        rows = connection.execute("SELECT usagecount, buffers, dirty FROM pgbufprobe_usagecount_histogram()").fetchall()
        dirty = sum(row[2] for row in rows)
        unused = sum(row[1] for row in rows if row[0] is None)
        clean = sum(row[1] for row in rows) - unused - dirty
        for state, count in (("unused", unused), ("clean", clean), ("dirty", dirty)):
            trial.sample("buffers", count, "buffers", limit, state=state, moment=moment)
        if moment != "checkpointed":
            for usagecount, buffers, _ in rows:
                trial.sample("histogram", buffers, "buffers", limit, usagecount=usagecount, moment=moment)
        held = dict(
            connection.execute(
                "SELECT relation::text, (sum(buffers), sum(dirty))::text FROM pgbufprobe_relations() "
                "WHERE relation IS NOT NULL AND database = current_database() GROUP BY 1"
            ).fetchall()
        )
        for relation in RELATIONS:
            buffers, dirty = (int(n) for n in held.get(relation, "(0,0)").strip("()").split(","))
            for state, count in (("clean", buffers - dirty), ("dirty", dirty)):
                trial.sample("relation_buffers", count, "buffers", limit, relation=relation, state=state, moment=moment)


SCENARIO = B()
