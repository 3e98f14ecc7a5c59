"""E5: how do data directories compare, with data that fits the memory and data that does not?"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pgbufprobe_lab.measure import machine, pgbench
from pgbufprobe_lab.measure.errors import StepFailed
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.server import Cluster
from pgbufprobe_lab.measure.trial import Step, Trial
from pgbufprobe_lab.sizes import BLOCK, MB

SCALE_BYTES = 15 * MB
INSIDE, OUTSIDE = 0.25, 1.5  # of the memory
POOL_SHARE = 0.25
CLIENTS = 4
LOADS = {"read": ["-S"], "tpcb": ["-b", "tpcb-like"]}
HERE = "(temporary folder)"


class E5:
    name = "E5"
    asks = "How do data directories compare, with data that fits the memory and data that does not?"
    limited = True
    oldest_major = 15

    @staticmethod
    def _dirs(plan: Plan) -> list[str]:
        return [str(path) for path in plan.data_dirs] or [HERE]

    @staticmethod
    def _scale(plan: Plan, place: str) -> int:
        return max(1, int(plan.memory * (INSIDE if place == "inside" else OUTSIDE)) // SCALE_BYTES)

    def steps(self, plan: Plan) -> list[Step]:
        pool = int(plan.memory * POOL_SHARE) // BLOCK * BLOCK
        return [
            Step(
                f"{trial}/{folder}/{place}",
                None,
                pool,
                trial,
                3 + self._scale(plan, place) * 0.25 + len(LOADS) * (plan.profile.e5_seconds + 1),
                {"data_dir": folder, "place": place},
            )
            for trial in range(1, self._runs(plan) + 1)
            for folder in self._dirs(plan)
            for place in ("inside", "outside")
        ]

    @classmethod
    def _runs(cls, plan: Plan) -> int:
        """To compare data directories, several runs show the noise; with one data directory, one run is enough."""
        return plan.runs if len(cls._dirs(plan)) > 1 else 1

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "data_dirs": self._dirs(plan),
            "clients": CLIENTS,
            "seconds": plan.profile.e5_seconds,
            "interval_seconds": plan.profile.e5_interval,
            "scales": {place: self._scale(plan, place) for place in ("inside", "outside")},
        }

    def prepare(self, lab: Laboratory) -> None:
        """Each step creates its own tables, in its own data directory."""

    def measure(self, trial: Trial) -> None:
        with self._cluster(trial, trial.args["data_dir"]) as cluster:
            fields = {
                "data_dir": trial.args["data_dir"],
                "place": trial.args["place"],
                "filesystem": machine.filesystem(cluster.data),
            }
            with trial.laboratory.loading_server(cluster) as server:
                scale = self._scale(trial.plan, trial.args["place"])
                server.client("pgbench", "-i", "-I", "dtgvp", "-q", "-s", str(scale), "lab")
            for load, options in LOADS.items():
                with trial.server(cluster=cluster) as server:
                    result = pgbench.run(
                        server,
                        CLIENTS,
                        trial.plan.profile.e5_seconds,
                        *options,
                        progress=trial.plan.profile.e5_interval,
                    )
                for seconds, tps, latency in result.intervals:
                    trial.sample("tps", tps, "1/s", seconds, load=load, **fields)
                    trial.sample("latency_ms", latency, "ms", seconds, load=load, **fields)
                trial.sample("mean_tps", result.tps, "1/s", load=load, **fields)

    @contextmanager
    def _cluster(self, trial: Trial, folder: str) -> Iterator[Cluster]:
        """A data directory in the folder, removed at the end."""
        if folder == HERE:
            trial.laboratory.renew_cluster()
            yield trial.laboratory.cluster
            return
        try:
            own = Path(tempfile.mkdtemp(prefix="pgbufprobe-lab-", dir=folder))
        except OSError as error:
            raise StepFailed(f"could not create a data directory in {folder}: {error.strerror}") from error
        try:
            if os.geteuid() == 0:
                os.chown(own, *trial.laboratory.installation.owner())
            cluster = Cluster(trial.laboratory.installation, trial.laboratory.cgroups, own / "data", mount=own)
            cluster.make()
            trial.laboratory.install(cluster)
            yield cluster
        finally:
            shutil.rmtree(own, ignore_errors=True)


SCENARIO = E5()
