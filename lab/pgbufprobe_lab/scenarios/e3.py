"""E3: how much faster do several jobs vacuum many tables?"""

import time
from pathlib import Path
from typing import Any

from ..lab import Lab, Step
from ..plan import Plan
from ..sizes import MB

PUBLISHED_TABLES = 48
PUBLISHED_ROWS = 20_000_000         # of each: pgbench's accounts at scale 200
FILLFACTOR = 80
JOBS = (1, 2, 4, 8)
TARGETS = (0.5, 0.9)
ROW_BYTES = 160                     # of an account at this fillfactor; for estimates only
WAL_BYTES = 32 * MB                 # the least that max_wal_size can be


class E3:
    name = "E3"
    asks = "How much faster do several jobs vacuum many tables?"
    limited = False
    oldest_major = 15

    def _bytes(self, plan: Plan) -> int:
        return plan.profile.vacuum_tables * plan.profile.vacuum_rows * ROW_BYTES

    def steps(self, plan: Plan) -> list[Step]:
        # The larger target counts with the most jobs only, as published.
        points = [(jobs, TARGETS[0]) for jobs in JOBS] + [(JOBS[-1], TARGETS[1])]
        seconds = 1.5 + self._bytes(plan) / (40 * MB)
        return [
            Step(f"{trial}/{jobs}/{target}", None, plan.pools["large"], trial, seconds, {"jobs": jobs, "target": target})
            for trial in range(1, plan.runs + 1) for jobs, target in points
        ]

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"tables": plan.profile.vacuum_tables, "rows": plan.profile.vacuum_rows, "fillfactor": FILLFACTOR,
                "jobs": JOBS, "max_wal_size": self._wal_bytes(plan), "pool": plan.pools["large"],
                "published_tables": PUBLISHED_TABLES, "published_rows": PUBLISHED_ROWS}

    def _wal_bytes(self, plan: Plan) -> int:
        """So little that checkpoints come during the vacuum: else their target changes nothing."""
        return max(WAL_BYTES, self._bytes(plan) // 4)

    def _updated(self, lab: Lab) -> Path:
        return lab.workshop.work / "data-updated"

    def prepare(self, lab: Lab) -> None:
        """Makes the tables with their dead rows, once: each step begins with a copy."""
        profile = lab.plan.profile
        with lab.loading() as connection:
            for number in range(1, profile.vacuum_tables + 1):
                table = f"accounts{number}"
                connection.execute(
                    f"CREATE TABLE {table} (aid integer PRIMARY KEY, bid integer, abalance integer, filler char(84)) "
                    f"WITH (fillfactor = {FILLFACTOR})"
                )
                connection.execute(
                    f"INSERT INTO {table} SELECT aid, 1, 0, '' FROM generate_series(1, {profile.vacuum_rows}) AS aid"
                )
                connection.execute(f"UPDATE {table} SET abalance = abalance + 1 WHERE aid % 2 = 0")
        lab.cluster.save(self._updated(lab))

    def measure(self, lab: Lab, step: Step) -> None:
        lab.cluster.restore(self._updated(lab))
        settings = {
            "checkpoint_completion_target": step.args["target"],
            "max_wal_size": f"{self._wal_bytes(lab.plan) // MB}MB",
            "min_wal_size": f"{WAL_BYTES // MB}MB",
            "checkpoint_timeout": "5min",
        }
        with lab.server(step.pool_bytes, settings) as server:
            begun = time.monotonic()
            server.client("vacuumdb", "--freeze", "--analyze", "--jobs", str(step.args["jobs"]), "--quiet", "lab")
            seconds = time.monotonic() - begun
        lab.sample("seconds", seconds, "s", step.args["jobs"], checkpoint_completion_target=step.args["target"])


SCENARIO = E3()
