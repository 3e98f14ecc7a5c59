"""Steps, which a scenario plans, and trials, which measure a step and record its samples."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.record import Recorder
from pgbufprobe_lab.measure.server import Cluster, Server, Settings, reported_settings


@dataclass(frozen=True)
class Step:
    """The smallest unit of a scenario: it counts as a whole, and is repeated if it was interrupted."""

    key: str
    pool: str | None
    pool_bytes: int
    trial: int | None
    seconds: float  # estimated duration
    args: dict[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        words = [f"{self.pool} pool"] if self.pool else []
        words += [f"{name} {value}" for name, value in self.args.items()]
        words += [f"trial {self.trial}"] if self.trial else []
        return ", ".join(words)


def steps_by_trial(plan: Plan, pools: dict[str, int], seconds: float) -> list[Step]:
    """Returns one step for each trial and pool. The pools take turns, so that drift affects all of them."""
    return [
        Step(f"{trial}/{pool}", pool, size, trial, seconds)
        for trial in range(1, plan.trials + 1)
        for pool, size in pools.items()
    ]


@dataclass(frozen=True)
class Trial:
    """One execution of a step: starts its server and records its samples."""

    laboratory: Laboratory
    step: Step
    recorder: Recorder
    limited: bool  # whether the memory limit applies to its server

    @property
    def plan(self) -> Plan:
        return self.laboratory.plan

    @property
    def args(self) -> dict[str, Any]:
        return self.step.args

    @contextmanager
    def server(self, settings: Settings | None = None, cluster: Cluster | None = None) -> Iterator[Server]:
        """A server with the pool size of the step and cold caches."""
        limit = self.plan.memory if self.limited and self.plan.limit_memory else None
        cluster = cluster or self.laboratory.cluster
        with cluster.server(self.step.pool_bytes, settings, limit) as server:
            with server.connect() as connection:
                self.recorder.settings(reported_settings(connection))
            yield server

    def sample(self, what: str, value: float, unit: str, x: float | None = None, **fields: Any) -> None:
        """Records a sample of the step's pool, unless the fields name another pool."""
        of_step = {"pool": self.step.pool, "pool_bytes": self.step.pool_bytes, "trial": self.step.trial}
        self.recorder.sample(what=what, **{**of_step, "x": x, "value": value, "unit": unit, **fields})


class Scenario(Protocol):
    """Each module in scenarios/ has one, named SCENARIO."""

    name: str
    asks: str
    limited: bool  # whether the memory limit applies to its servers
    oldest_major: int

    def steps(self, plan: Plan) -> list[Step]: ...

    def parameters(self, plan: Plan) -> dict[str, Any]: ...

    def prepare(self, lab: Laboratory) -> None:
        """Creates the tables; not measured. Repeated when a scenario is continued."""

    def measure(self, trial: Trial) -> None: ...
