"""Sizes and durations of each profile. The procedures are the same in all of them."""

from dataclasses import dataclass, field
from pathlib import Path

from pgbufprobe_lab.sizes import GB, MB, pool_sizes

PROFILES = ("quick", "normal", "published")
DEFAULT_MEMORY = {"quick": 256 * MB, "normal": GB}

TRIALS = 5  # of each of A's scenarios
RUNS = 3  # of each point of E1 and E2, as published


@dataclass(frozen=True)
class Profile:
    """What a profile scales. The published values are in the scenarios."""

    name: str
    seconds: float  # of one run of pgbench in A6
    e_seconds: float  # and in E1 and E2; 300 published
    e5_seconds: int
    e5_interval: int  # 10 published
    insert_rows: int  # C; 10,000,000 published
    read_scale: int  # E1; 1000 published
    update_scale: int  # E2; 7000 published
    vacuum_tables: int  # E3; 48 published
    vacuum_rows: int  # rows of each; 20,000,000 published
    brin_rows: int  # E4; 120,000,000 published
    a7_warming: float  # random reads per page of a range before it is measured


_PROFILES = {
    "quick": Profile("quick", 1, 1, 8, 1, 200_000, 4, 10, 8, 50_000, 1_000_000, 0.4),
    "normal": Profile("normal", 3, 5, 60, 5, 1_000_000, 20, 30, 16, 200_000, 5_000_000, 1.0),
    "published": Profile("published", 30, 300, 600, 10, 10_000_000, 1000, 1000, 48, 1_000_000, 120_000_000, 2.0),
}


@dataclass(frozen=True)
class Plan:
    """The options of a run."""

    profile: Profile
    ram: int
    memory: int  # memory of the simulated machine
    limit_memory: bool  # whether that is less than the RAM
    data_dirs: tuple[Path, ...] = ()
    pools: dict[str, int] = field(default_factory=dict)
    trials: int = TRIALS
    runs: int = RUNS

    @staticmethod
    def make(profile: str, ram: int, memory: int | None = None, data_dirs: tuple[Path, ...] = ()) -> "Plan":
        if memory is None:
            memory = DEFAULT_MEMORY.get(profile, ram)
        limit = memory < ram
        memory = min(memory, ram)
        return Plan(_PROFILES[profile], ram, memory, limit, data_dirs, pool_sizes(memory))
