"""Artificial results for the tests of the report, computed from formulas, not measured.

The samples of each scenario agree with the published findings, or contradict them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pgbufprobe_lab.samples import ONE_HAND, SAMPLES, SWEEPS, check

MB = 1024**2
GB = 1024**3
POOLS = {"small": 128 * MB, "middle": 256 * MB, "large": 384 * MB}
TRIALS = (1, 2, 3)
Sample = dict[str, Any]


def sample(
    scenario: str,
    what: str,
    value: float,
    pool: str | None = None,
    trial: int | None = 1,
    x: Any = None,
    pool_bytes: int | None = None,
    **fields: Any,
) -> Sample:
    """Returns a sample that samples.py accepts."""
    made = {
        "what": what,
        "pool": pool,
        "pool_bytes": pool_bytes or POOLS.get(pool or "", 256 * MB),
        "trial": trial,
        "x": x,
        "value": value,
        "unit": SAMPLES[scenario][what].unit,
        **fields,
    }
    check(scenario, made)
    return made


def wobble(trial: int, by: float = 0.02) -> float:
    """Returns a factor that makes trials differ a little."""
    return 1 + by * (trial - 2)


def a1(agrees: bool = True) -> Iterator[Sample]:
    for pool, size in POOLS.items():
        for trial in TRIALS:
            for read in range(1, 21):
                base = 0.03 if agrees else 0.03 * size / POOLS["small"]
                yield sample("A1", "hit_ms", base * wobble(trial) * (1 + read % 3 / 50), pool, trial, read)


def _events(agrees: bool) -> Iterator[Sample]:
    for pool, size in POOLS.items():
        buffers = size // 8192
        before = {None: 0, 0: 0, 1: 105, 2: 4, 3: 0, 4: 1, 5: buffers - 110}
        after = {None: 0, 0: 108, 1: 2, 2: 1, 3: 37, 4: buffers - 217, 5: 69} if agrees else before
        for trial in TRIALS:
            for moment, histogram in (("before", before), ("after", after)):
                for count, value in histogram.items():
                    yield sample(
                        "A2",
                        "histogram",
                        value,
                        pool,
                        trial,
                        count,
                        event=1,
                        kind="read",
                        read=106,
                        moment=moment,
                        passes=1.0,
                    )


def a2(agrees: bool = True) -> Iterator[Sample]:
    yield from _events(agrees)
    for pool, size in POOLS.items():
        for trial in TRIALS:
            cost = (3.8 * size / GB if agrees else 1.0) * wobble(trial)
            for method, factor in (("live", 1.0), ("replay", 0.95), ("reads", 1.2)):
                yield sample("A2", "pass_ms", cost * factor, pool, trial, method=method)
                yield sample("A2", "ms_per_gb", cost * factor * GB / size, pool, trial, method=method)
            for read in range(1, 501):
                swept = read % 160 == 106
                value = 0.02 + (read * 7 % 13) / 1000 + (cost if swept else 0)
                yield sample("A2", "read_ms", value, pool, trial, read, passes=1.0 if swept else 0.0001)
                if swept:
                    yield sample("A2", "sweep_read_ms", cost, pool, trial, read, passes=1.0)
            yield sample("A2", "swept_reads", 3, pool, trial)


def a3(agrees: bool = True) -> Iterator[Sample]:
    for trial in TRIALS:
        for read in range(1, 11):
            yield sample("A3", "read_ms", 0.020 * wobble(trial), "large", trial, read, tier="shared_buffers")
            yield sample(
                "A3", "read_ms", (0.058 if agrees else 0.018) * wobble(trial), "small", trial, read, tier="os_cache"
            )


def a4(agrees: bool = True) -> Iterator[Sample]:
    for pool in ("small", "large"):
        for trial in TRIALS:
            factor = wobble(trial) * (1 if agrees or pool == "small" else 2)
            for number in range(1, 6):
                yield sample("A4", "update_ms", 0.17 * factor, pool, trial, number)
                yield sample("A4", "commit_ms", (8.0 if agrees else 0.01) * factor, pool, trial, number)


def a5(agrees: bool = True) -> Iterator[Sample]:
    for pool, size in POOLS.items():
        for trial in TRIALS:
            for method, factor in (("read", 0.4), ("lock", 1.0), ("match", 0.5)):
                cost = (2.5 * size / GB if agrees else 1.0) * factor * wobble(trial)
                yield sample("A5", "scan_ms", cost, pool, trial, method=method, stat="min")
                yield sample("A5", "scan_ms_per_gb", cost * GB / size, pool, trial, method=method)


def a6(agrees: bool = True) -> Iterator[Sample]:
    for case, base in (("hit", 30000), ("os", 20000)):
        for pool in ("small", "large"):
            for trial in TRIALS:
                for clients in (1, 2, 4, 8):
                    grown = min(clients, 2 if agrees or pool == "small" else 8)
                    yield sample("A6", "tps", base * grown * wobble(trial), pool, trial, clients, case=case)


def a7(agrees: bool = True) -> Iterator[Sample]:
    begins = {"small": 65, "middle": 50, "large": 75} if agrees else {"small": 55, "middle": 75, "large": 45}
    for pool, start in begins.items():
        for trial in TRIALS:
            for x in range(10, 101, 10):
                share = max(0.0, (x - start - trial + 2) / 100)
                yield sample("A7", "storage_share", share, pool, trial, x)
                if pool != "small" and (trial, x) == (1, 100):
                    yield sample("A7", "predicted_storage_share", share * 0.9, pool, trial, x)
                yield sample("A7", "mean_ms", 0.03 + share * 0.4, pool, trial, x)
                yield sample("A7", "pool_miss_share", min(1.0, x / 100), pool, trial, x)
                yield sample("A7", "both_bytes", min(POOLS[pool], x * 6 * MB), pool, trial, x)


def a8(agrees: bool = True) -> Iterator[Sample]:
    for pool in ("small", "large"):
        kept = 0.51 if pool == "small" else 1.0
        for trial in TRIALS:
            for moment in ("before", "after"):
                share = kept if moment == "before" or agrees else kept / 4
                os_share = 1 - share if moment == "before" else (0.0 if agrees else (1 - share) / 2)
                tiers = {"shared_buffers": share, "os_cache": os_share, "storage": 1 - share - os_share}
                for tier, value in tiers.items():
                    for method in ("residency", "reads"):
                        yield sample("A8", "share", value, pool, trial, tier=tier, moment=moment, method=method)
                for tier, value in (("shared_buffers", 0.077), ("storage", 20.3)):
                    if tiers[tier]:
                        yield sample("A8", "mean_ms", value, pool, trial, tier=tier, moment=moment, reads=100)
                yield sample(
                    "A8",
                    "mean_ms",
                    (10.0 - 9.9 * share) * wobble(trial),
                    pool,
                    trial,
                    tier="all",
                    moment=moment,
                    reads=100,
                )


def b(agrees: bool = True) -> Iterator[Sample]:
    limits = (256 * 1024, 32 * MB, 256 * MB)
    for trial in TRIALS:
        for place, limit in enumerate(limits):
            step = place if agrees else 1
            yield sample("B", "vacuum_writes", (330000, 104000, 1)[step], None, trial, limit)
            yield sample("B", "vacuum_seconds", (30, 24, 13)[step] * wobble(trial), None, trial, limit)
            yield sample("B", "checkpoint_buffers", (42, 232014, 295206)[step], None, trial, limit)
            for state, value in (("unused", 100), ("clean", 30000 - 9000 * step), ("dirty", 9000 * step)):
                yield sample("B", "buffers", value, None, trial, limit, state=state, moment="after")


def c(agrees: bool = True) -> Iterator[Sample]:
    sizes = {"small": 16 * MB, "large": 256 * MB}
    for trial in (1, 2):
        for pool, size in sizes.items():
            for order in ("ascending", "random"):
                for count in range(6):
                    slow = order == "random" and (pool == "small") == agrees
                    seconds = 1 + (0.5 * count * count if slow else 0.4 * count)
                    values = {
                        "seconds": seconds * wobble(trial),
                        "read": 200000 * count if slow else 20 + count,
                        "hit": 1000000 * (count + 1),
                        "dirtied": 1000,
                        "written": 1000,
                        "index_bytes": 30 * MB * count,
                        "table_bytes": 60 * MB,
                    }
                    for what, value in values.items():
                        yield sample("C", what, value, pool, trial, count, size, order=order)


def d(agrees: bool = True) -> Iterator[Sample]:
    sizes = {"small": 128 * MB, "large": 1024 * MB}
    for trial in TRIALS:
        for pool, size in sizes.items():
            for query in ("c_id = 1", "c_id < 150"):
                for order in ("p_id", "c_id"):
                    needed = {"c_id = 1": 10000, "c_id < 150": 20619}[query] // (
                        10 if order == "c_id" and agrees else 1
                    )
                    many = query == "c_id < 150" and order == "p_id"
                    for run in (1, 2):
                        again = 20331 if many and pool == "small" else 0
                        read = needed if run == 1 else again if agrees else needed
                        fields = {
                            "pool": pool,
                            "trial": trial,
                            "x": run,
                            "pool_bytes": size,
                            "query": query,
                            "order": order,
                        }
                        yield sample("D", "heap_blks_read", read, **fields)
                        yield sample("D", "heap_blks_hit", needed - read, **fields)
                        yield sample("D", "ms", (160 if run == 1 else 34) * wobble(trial), **fields)


def e1(agrees: bool = True) -> Iterator[Sample]:
    for trial in TRIALS:
        for clients in (1, 2, 4, 8, 16):
            tps = 100 * (min(clients, 2) if agrees else 1 / clients)
            yield sample("E1", "tps", tps * wobble(trial), None, trial, clients)


def e2(agrees: bool = True) -> Iterator[Sample]:
    for variant, gain in (("simple", 1.0), ("prepared", 1.3 if agrees else 0.9)):
        for trial in TRIALS:
            for clients in (1, 2, 4, 8) if variant == "simple" else (8,):
                for script, factor in (("write1", 1.0), ("write10", 2.1 if agrees else 1.0)):
                    tps = 50 * clients * factor * gain * wobble(trial)
                    yield sample("E2", "tps", tps, None, trial, clients, script=script, variant=variant)


def e3(agrees: bool = True) -> Iterator[Sample]:
    for trial in TRIALS:
        for jobs in (1, 2, 4, 8):
            seconds = (20 / min(jobs, 2) if agrees else 20) * wobble(trial)
            yield sample("E3", "seconds", seconds, None, trial, jobs, checkpoint_completion_target=0.5)
        late = seconds * (2 if agrees else 1)
        yield sample("E3", "seconds", late, None, trial, 8, checkpoint_completion_target=0.9)


def e4(agrees: bool = True) -> Iterator[Sample]:
    good = 1 if agrees else 20
    for trial in TRIALS:
        for order in ("sorted", "random"):

            def one(what: str, value: float, index: str, x: int | None = None) -> Sample:
                return sample("E4", what, value * wobble(trial), None, trial, x, order=order, index=index)

            yield one("build_seconds", 10, "btree")
            yield one("index_bytes", 200 * MB, "btree")
            yield one("range_ms", 5, "btree")
            yield one("point_ms", 0.02, "btree")
            yield one("range_ms", 300, "none")
            yield one("point_ms", 250, "none")
            for pages in (1, 128, 12800):
                yield one("build_seconds", 1.2 * (1 if agrees else 5), "brin", pages)
                yield one("index_bytes", 2 * MB / pages, "brin", pages)
                slow = 7 * good if order == "sorted" else 310 * (1 if agrees else 0.1)
                yield one("range_ms", slow + pages / 1000, "brin", pages)
                yield one("point_ms", slow, "brin", pages)


def e5(agrees: bool = True) -> Iterator[Sample]:
    for load in ("read", "tpcb"):
        for place in ("inside", "outside"):
            for folder in ("/srv/one", "/srv/two"):
                best = "/srv/one" if place == "inside" or not agrees else "/srv/two"
                base = (1000 if place == "inside" else 200) * (1.5 if folder == best else 1.0)
                fields = {"data_dir": folder, "filesystem": "ext4", "load": load, "place": place}
                for trial in TRIALS:
                    yield sample("E5", "mean_tps", base * wobble(trial), None, trial, **fields)
                    for second in range(1, 11):
                        yield sample(
                            "E5", "tps", base * wobble(trial) * (1 + second % 3 / 20), None, trial, second, **fields
                        )


def f(agrees: bool = True) -> Iterator[Sample]:
    policies = dict(zip(SWEEPS, (400, 350, 300, 200), strict=True))
    for trial in TRIALS:
        for policy, ns in policies.items():
            for load in ("skewed", "moving", "scans"):
                yield sample("F", "miss_ratio", 0.2 * wobble(trial), None, trial, load=load, policy=policy)
                change = 0.0 if policy == ONE_HAND else 0.001 * wobble(trial) if agrees else 0.03
                for stat, away in (("low", -0.002), ("median", 0.0), ("high", 0.002)):
                    yield sample("F", "change", change + away, None, trial, load=load, policy=policy, stat=stat)
            for threads in (1, 2, 4, 8):
                value = (ns if agrees else 400) * wobble(trial)
                yield sample("F", "search_ns", value, None, trial, threads, policy=policy)


MAKERS = {
    "A1": a1,
    "A2": a2,
    "A3": a3,
    "A4": a4,
    "A5": a5,
    "A6": a6,
    "A7": a7,
    "A8": a8,
    "B": b,
    "C": c,
    "D": d,
    "E1": e1,
    "E2": e2,
    "E3": e3,
    "E4": e4,
    "E5": e5,
    "F": f,
}


def result(scenario: str, agrees: bool = True, **changes: Any) -> dict[str, Any]:
    """Returns what lab/run writes for a scenario, marked as artificial."""
    return {
        "schema": 1,
        "scenario": scenario,
        "asks": "artificial",
        "profile": "artificial",
        "status": "complete",
        "started_at": "2000-01-01T00:00:00+00:00",
        "finished_at": "2000-01-01T00:01:00+00:00",
        "seconds": 60.0,
        "machine": {"cpu": "artificial", "cpus": 2, "memory_bytes": GB, "kernel": "artificial", "filesystem": "ext4"},
        "server": {"version": "15.0 (artificial)", "settings": {}},
        "extension": "1.0",
        "memory_limit": {"bytes": 512 * MB, "how": "cgroup v1", "why": None},
        "parameters": {},
        "samples": list(MAKERS[scenario](agrees)),
        "failures": [],
    } | changes


def write_results(outdir: Path, agrees: bool = True, names: tuple[str, ...] = tuple(MAKERS)) -> None:
    for name in names:
        (outdir / f"{name}.json").write_text(json.dumps(result(name, agrees)), encoding="utf-8")
