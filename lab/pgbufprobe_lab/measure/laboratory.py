"""The data directory of a run, and the conditions that it is measured under."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from pgbufprobe_lab.measure import machine
from pgbufprobe_lab.measure.cgroup import Cgroups, Limit
from pgbufprobe_lab.measure.installation import Installation
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.server import LOADING, Cluster, Server
from pgbufprobe_lab.sizes import MB

if TYPE_CHECKING:  # trial.py imports this module
    from pgbufprobe_lab.measure.trial import Scenario


class Laboratory:
    def __init__(self, plan: Plan, installation: Installation, cgroups: Cgroups):
        self.plan = plan
        self.installation = installation
        self.cgroups = cgroups
        self.cluster = Cluster(installation, cgroups, installation.work / "data")
        self.pristine = installation.work / "data-pristine"
        self.extension: str | None = None

    # --- data directory ---

    def make_first_cluster(self) -> None:
        """Makes a data directory that contains only the extension. Each scenario begins with a copy."""
        self.cluster.make()
        self.extension = self.install(self.cluster)
        self.cluster.save(self.pristine)

    def renew_cluster(self) -> None:
        """Restores the first data directory and removes the copies that the previous scenario saved."""
        for copy in self.installation.work.glob("data-*"):
            if copy != self.pristine:
                shutil.rmtree(copy)
        self.cluster.restore(self.pristine)

    def install(self, cluster: Cluster) -> str:
        """Creates the database and the extension. Returns the version of the extension."""
        with cluster.server(32 * MB, LOADING) as server:
            with server.connect("postgres") as connection:
                connection.execute("CREATE DATABASE lab")
            with server.connect() as connection:
                connection.execute("CREATE EXTENSION pgbufprobe")
                row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'pgbufprobe'").fetchone()
                assert row
                return row[0]

    @contextmanager
    def loading_server(self, cluster: Cluster | None = None) -> Iterator[Server]:
        """A server to create tables on. A checkpoint writes them out at the end."""
        with (cluster or self.cluster).server(128 * MB, LOADING) as server:
            yield server
            with server.connect() as connection:
                connection.execute("CHECKPOINT")

    @contextmanager
    def loading(self) -> Iterator[psycopg.Connection]:
        """A connection to such a server."""
        with self.loading_server() as server, server.connect() as connection:
            yield connection

    # --- conditions ---

    def limit(self, scenario: Scenario) -> Limit:
        if not scenario.limited:
            return Limit(None, "none", "published without a limit; it uses little of the RAM")
        if not self.plan.limit_memory:
            return Limit(None, "none", "the requested memory is all RAM")
        if not self.cgroups.base:
            return Limit(None, "none", self.cgroups.why)
        return Limit(self.plan.memory, self.cgroups.how, None)

    def about(self, scenario: Scenario) -> dict[str, Any]:
        return {
            "asks": scenario.asks,
            "profile": self.plan.profile.name,
            "machine": machine.describe(self.installation.work),
            "version": self.installation.version,
            "extension": self.extension,
            "memory_limit": self.limit(scenario).as_json(),
            "parameters": self.parameters(scenario),
        }

    def parameters(self, scenario: Scenario) -> dict[str, Any]:
        common = {
            "memory_bytes": self.plan.memory,
            "trials": self.plan.trials,
            "caches_dropped": "sync_file_range() and posix_fadvise(DONTNEED) of the server's files",
        }
        return {**common, **scenario.parameters(self.plan)}

    def conditions(self, scenario: Scenario) -> dict[str, Any]:
        """Returns what must be equal before a run is continued."""
        about = self.about(scenario)
        return {key: about[key] for key in ("profile", "version", "memory_limit", "parameters")}
