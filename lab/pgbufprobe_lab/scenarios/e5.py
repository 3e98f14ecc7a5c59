"""E5: the same loads on each data directory, with data inside and outside of the memory."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from .. import machine, pgbench
from ..errors import StepFailed
from ..lab import Lab, Step
from ..plan import Plan
from ..server import Cluster
from ..sizes import BLOCK, MB

SCALE_BYTES = 15 * MB
INSIDE, OUTSIDE = 0.25, 1.5         # of the memory
POOL_SHARE = 0.25
CLIENTS = 4
LOADS = {"read": ["-S"], "tpcb": ["-b", "tpcb-like"]}
HERE = "(temporary folder)"


class E5:
    name = "E5"
    asks = "How do the data directories compare, with data inside and outside of the memory?"
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
            Step(f"{trial}/{folder}/{place}", None, pool, trial,
                 3 + self._scale(plan, place) * 0.25 + len(LOADS) * (plan.profile.e5_seconds + 1),
                 {"data_dir": folder, "place": place})
            for trial in range(1, self._runs(plan) + 1) for folder in self._dirs(plan) for place in ("inside", "outside")
        ]

    @classmethod
    def _runs(cls, plan: Plan) -> int:
        """One run a folder cannot tell a difference from noise; where there is nothing to compare, it will do."""
        return plan.runs if len(cls._dirs(plan)) > 1 else 1

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"data_dirs": self._dirs(plan), "clients": CLIENTS, "seconds": plan.profile.e5_seconds,
                "interval_seconds": plan.profile.e5_interval,
                "scales": {place: self._scale(plan, place) for place in ("inside", "outside")}}

    def prepare(self, lab: Lab) -> None:
        """Each step makes its own data, where it is told to."""

    def measure(self, lab: Lab, step: Step) -> None:
        with self._cluster(lab, step.args["data_dir"]) as cluster:
            fields = {"data_dir": step.args["data_dir"], "place": step.args["place"],
                      "filesystem": machine.filesystem(cluster.data)}
            with lab.loading_server(cluster) as server:
                scale = self._scale(lab.plan, step.args["place"])
                server.client("pgbench", "-i", "-I", "dtgvp", "-q", "-s", str(scale), "lab")
            for load, options in LOADS.items():
                with lab.server(step.pool_bytes, cluster=cluster) as server:
                    result = pgbench.run(server, CLIENTS, lab.plan.profile.e5_seconds, *options,
                                         progress=lab.plan.profile.e5_interval)
                for seconds, tps, latency in result.intervals:
                    lab.sample("tps", tps, "1/s", seconds, load=load, **fields)
                    lab.sample("latency_ms", latency, "ms", seconds, load=load, **fields)
                lab.sample("mean_tps", result.tps, "1/s", load=load, **fields)

    @contextmanager
    def _cluster(self, lab: Lab, folder: str) -> Iterator[Cluster]:
        """A data directory in the folder, gone afterwards."""
        if folder == HERE:
            lab.renew_cluster()
            yield lab.main
            return
        try:
            own = Path(tempfile.mkdtemp(prefix="pgbufprobe-lab-", dir=folder))
        except OSError as error:
            raise StepFailed(f"nothing can be made in {folder}: {error.strerror}") from error
        try:
            if os.geteuid() == 0:
                os.chown(own, *lab.workshop.owner())
            cluster = Cluster(lab.workshop, lab.cgroups, own / "data", mount=own)
            cluster.make()
            lab.install(cluster)
            yield cluster
        finally:
            shutil.rmtree(own, ignore_errors=True)


SCENARIO = E5()
