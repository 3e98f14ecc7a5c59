"""What a scenario works with: its steps, a server for each, and where its samples go."""

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Iterator, Protocol

import psycopg

from . import machine
from .cgroup import Cgroups, Limit
from .plan import Plan
from .record import Recorder
from .server import LOADING, Cluster, Server, Settings, reported_settings
from .sizes import MB
from .workshop import Workshop


@dataclass(frozen=True)
class Step:
    """What is measured in one piece, and again if it was interrupted."""

    key: str
    pool: str | None
    pool_bytes: int
    trial: int | None
    seconds: float                       # about how long it takes
    args: dict[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        words = [f"{self.pool} pool"] if self.pool else []
        words += [f"{name} {value}" for name, value in self.args.items() if name not in ("index_seed",)]
        words += [f"trial {self.trial}"] if self.trial else []
        return ", ".join(words)


class Scenario(Protocol):
    """A module in scenarios/ has one of these, named SCENARIO."""

    name: str
    asks: str
    limited: bool                        # whether its server is held in the memory limit
    oldest_major: int

    def steps(self, plan: Plan) -> list[Step]: ...

    def parameters(self, plan: Plan) -> dict[str, Any]: ...

    def prepare(self, lab: "Lab") -> None:
        """Makes tables; not measured. Done again when a scenario is continued."""

    def measure(self, lab: "Lab", step: Step) -> None: ...


def trials(plan: Plan, pools: dict[str, int], seconds: float, **args: Any) -> list[Step]:
    """A step for each trial and pool; the pools take turns, so that what drifts hits them all."""
    return [
        Step("/".join([str(trial), pool, *map(str, args.values())]), pool, size, trial, seconds, args)
        for trial in range(1, plan.trials + 1)
        for pool, size in pools.items()
    ]


class Lab:
    """One run of the laboratory."""

    def __init__(self, plan: Plan, workshop: Workshop, cgroups: Cgroups):
        self.plan = plan
        self.workshop = workshop
        self.cgroups = cgroups
        self.main = Cluster(workshop, cgroups, workshop.work / "data")
        self.cluster = self.main
        self.fresh = workshop.work / "data-fresh"
        self.recorder: Recorder | None = None
        self.step: Step | None = None
        self.limited = True
        self.extension: str | None = None

    # --- what was limited ---

    def limit(self, scenario: Scenario) -> Limit:
        if not scenario.limited:
            return Limit(None, "none", "published without a limit; what it uses is small beside the RAM")
        if not self.plan.limit_memory:
            return Limit(None, "none", "the memory asked for is the RAM there is")
        if not self.cgroups.base:
            return Limit(None, "none", self.cgroups.why)
        return Limit(self.plan.memory, self.cgroups.how, None)

    # --- servers ---

    def make_first_cluster(self) -> None:
        """A data directory with nothing in it but the extension; each scenario begins with it."""
        self.main.make()
        self.install(self.main)
        self.main.save(self.fresh)

    def renew_cluster(self) -> None:
        """As it was at first; what the scenario before has kept is not needed any more."""
        for copy in self.workshop.work.glob("data-*"):
            if copy != self.fresh:
                shutil.rmtree(copy)
        self.main.restore(self.fresh)

    def install(self, cluster: Cluster) -> None:
        with cluster.server(32 * MB, LOADING) as server:
            with server.connect("postgres") as connection:
                connection.execute("CREATE DATABASE lab")
            with server.connect() as connection:
                connection.execute("CREATE EXTENSION pgbufprobe")
                row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'pgbufprobe'").fetchone()
                assert row
                self.extension = row[0]

    @contextmanager
    def loading_server(self, cluster: Cluster | None = None) -> Iterator[Server]:
        """A server to make tables on; they are on disk afterwards."""
        with (cluster or self.cluster).server(128 * MB, LOADING) as server:
            yield server
            with server.connect() as connection:
                connection.execute("CHECKPOINT")

    @contextmanager
    def loading(self) -> Iterator[psycopg.Connection]:
        """The same, for SQL."""
        with self.loading_server() as server, server.connect() as connection:
            yield connection

    @contextmanager
    def server(self, pool_bytes: int, settings: Settings | None = None, cluster: Cluster | None = None) -> Iterator[Server]:
        """A server as it is to be measured."""
        limit = self.plan.memory if self.limited and self.plan.limit_memory else None
        with (cluster or self.cluster).server(pool_bytes, settings, limit) as server:
            with server.connect() as connection:
                assert self.recorder
                self.recorder.settings(reported_settings(connection))
            yield server

    # --- samples ---

    def sample(self, what: str, value: float, unit: str, x: float | None = None, **fields: Any) -> None:
        assert self.recorder and self.step
        self.recorder.sample(what=what, pool=self.step.pool, pool_bytes=self.step.pool_bytes, trial=self.step.trial,
                             x=x, value=value, unit=unit, **fields)

    # --- one scenario ---

    def about(self, scenario: Scenario) -> dict[str, Any]:
        return {
            "asks": scenario.asks,
            "profile": self.plan.profile.name,
            "machine": machine.describe(self.workshop.work),
            "version": self.workshop.version,
            "extension": self.extension,
            "memory_limit": self.limit(scenario).as_json(),
            "parameters": self.parameters(scenario),
        }

    def parameters(self, scenario: Scenario) -> dict[str, Any]:
        common = {"memory_bytes": self.plan.memory, "trials": self.plan.trials,
                  "caches_dropped": "sync_file_range() and posix_fadvise(DONTNEED) of the server's files"}
        return {**common, **scenario.parameters(self.plan)}

    def conditions(self, scenario: Scenario) -> dict[str, Any]:
        """What must be the same for samples to belong together."""
        about = self.about(scenario)
        return {key: about[key] for key in ("profile", "version", "memory_limit", "parameters")}

