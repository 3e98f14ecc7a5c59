"""E3: how much faster do several jobs vacuum many tables?"""

import time
from pathlib import Path
from typing import Any

from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial
from pgbufprobe_lab.sizes import MB

PUBLISHED_TABLES = 48
PUBLISHED_ROWS = 20_000_000  # of each: pgbench's accounts at scale 200
FILLFACTOR = 80
JOBS = (1, 2, 4, 8)
TARGETS = (0.5, 0.9)
ROW_BYTES = 160  # of an account at this fillfactor; for estimates only
WAL_BYTES = 32 * MB  # the lowest max_wal_size


class E3:
    name = "E3"
    asks = "How much faster do several jobs vacuum many tables?"
    limited = False
    oldest_major = 15

    def _bytes(self, plan: Plan) -> int:
        return plan.profile.vacuum_tables * plan.profile.vacuum_rows * ROW_BYTES

    def steps(self, plan: Plan) -> list[Step]:
        # As published, the larger target is used with the most jobs only.
        points = [(jobs, TARGETS[0]) for jobs in JOBS] + [(JOBS[-1], TARGETS[1])]
        seconds = 1.5 + self._bytes(plan) / (40 * MB)
        return [
            Step(
                f"{trial}/{jobs}/{target}", None, plan.pools["large"], trial, seconds, {"jobs": jobs, "target": target}
            )
            for trial in range(1, plan.runs + 1)
            for jobs, target in points
        ]

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "tables": plan.profile.vacuum_tables,
            "rows": plan.profile.vacuum_rows,
            "fillfactor": FILLFACTOR,
            "jobs": JOBS,
            "max_wal_size": self._wal_bytes(plan),
            "pool": plan.pools["large"],
            "published_tables": PUBLISHED_TABLES,
            "published_rows": PUBLISHED_ROWS,
        }

    def _wal_bytes(self, plan: Plan) -> int:
        """Returns a size small enough for checkpoints during VACUUM; otherwise their target would have no effect."""
        return max(WAL_BYTES, self._bytes(plan) // 4)

    @staticmethod
    def _updated(lab: Laboratory) -> Path:
        return lab.installation.work / "data-updated"

    def prepare(self, lab: Laboratory) -> None:
        """Creates tables with dead rows once; each step begins with a copy."""
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

    def measure(self, trial: Trial) -> None:
        trial.laboratory.cluster.restore(self._updated(trial.laboratory))
        settings = {
            "checkpoint_completion_target": trial.args["target"],
            "max_wal_size": f"{self._wal_bytes(trial.plan) // MB}MB",
            "min_wal_size": f"{WAL_BYTES // MB}MB",
            "checkpoint_timeout": "5min",
        }
        with trial.server(settings) as server:
            begun = time.monotonic()
            server.client("vacuumdb", "--freeze", "--analyze", "--jobs", str(trial.args["jobs"]), "--quiet", "lab")
            seconds = time.monotonic() - begun
        trial.sample("seconds", seconds, "s", trial.args["jobs"], checkpoint_completion_target=trial.args["target"])


SCENARIO = E3()
