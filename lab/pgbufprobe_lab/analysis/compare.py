"""Computes the counterparts of the published figures from the samples of a run."""

from __future__ import annotations

from collections.abc import Callable

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.medians import (
    Samples,
    Summary,
    best_of,
    distinct,
    paired,
    pick,
    quotient,
    summarize,
)

Here = dict[str, Summary | None]  # by the key of the published figure


def _plain(value: float | None) -> Summary | None:
    return None if value is None else Summary(value, value, value, 1)


def _here_a1(samples: Samples) -> Here:
    return {"hit_difference_ms": _plain(derive.hit_difference(samples))}


def _here_a2(samples: Samples) -> Here:
    method = derive.pass_method(samples)
    passes = pick(samples, what="pass_ms", method=method)
    return {
        "pass_ms_per_gb": summarize(pick(samples, what="ms_per_gb", method=method)),
        "pass_large_small_ratio": paired(pick(passes, pool="large"), pick(passes, pool="small"), quotient),
        "sweeps_per_500_reads": summarize(pick(samples, what="swept_reads")),
        "moved_left": derive.moved_left(samples),
    }


def _here_a3(samples: Samples) -> Here:
    return {"os_minus_pool_ms": derive.page_cache_minus_pool(samples)}


def _here_a4(samples: Samples) -> Here:
    return {
        f"{what}_{pool}_ms": summarize(pick(samples, what=f"{what}_ms", pool=pool))
        for what in ("update", "commit")
        for pool in ("small", "large")
    }


def _here_a5(samples: Samples) -> Here:
    return {"scan_ms_per_gb": summarize(pick(samples, what="scan_ms_per_gb", method="lock"))}


def _here_a8(samples: Samples) -> Here:
    here: Here = {}
    for pool in ("small", "large"):
        shares = pick(samples, what="share", pool=pool, method="reads", moment="after")
        times = pick(samples, what="mean_ms", pool=pool, moment="after")
        here[f"pool_share_{pool}"] = summarize(pick(shares, tier="shared_buffers"))
        here[f"os_share_{pool}"] = summarize(pick(shares, tier="os_cache"))
        here[f"read_{pool}_ms"] = summarize(pick(times, tier="all"))
        here[f"hit_{pool}_ms"] = summarize(pick(times, tier="shared_buffers"))
        here[f"miss_{pool}_ms"] = summarize(pick(times, tier=("os_cache", "storage")))
    return here


def _here_b(samples: Samples) -> Here:
    limits = distinct(samples, "x")
    if len(limits) < 2:
        return {}
    names = {limits[0]: "smallest", limits[-1]: "largest"}
    if len(limits) == 3:
        names[limits[1]] = "middle"
    kinds = (("writes", "vacuum_writes"), ("seconds", "vacuum_seconds"), ("checkpoint", "checkpoint_buffers"))
    return {
        f"{key}_{name}": summarize(pick(samples, what=what, x=limit))
        for limit, name in names.items()
        for key, what in kinds
    }


def _here_d(samples: Samples) -> Here:
    def median(what: str, run: int, query: str = "c_id = 1") -> Summary | None:
        return summarize(pick(samples, what=what, query=query, order="p_id", pool="small", x=run))

    scattered, ordered = (derive.blocks_needed(samples, order) for order in ("p_id", "c_id"))
    return {
        "first_read": median("heap_blks_read", 1),
        "first_hit": median("heap_blks_hit", 1),
        "first_ms": median("ms", 1),
        "second_read": median("heap_blks_read", 2),
        "second_hit": median("heap_blks_hit", 2),
        "second_ms": median("ms", 2),
        "many_read": median("heap_blks_read", 2, "c_id < 150"),
        "scattered_ordered": paired(scattered, ordered, quotient),
    }


def _here_e2(samples: Samples) -> Here:
    return {"write10_write1": derive.write10_write1(samples)}


def _here_e3(samples: Samples) -> Here:
    by_jobs = derive.vacuum_by_jobs(samples)
    best = best_of(by_jobs, lowest=True)
    here: Here = {"seconds_one_job": by_jobs.get(1), "seconds_best": by_jobs.get(best)}
    if 1 in by_jobs and best is not None and by_jobs[best].median > 0:
        here["speedup"] = _plain(by_jobs[1].median / by_jobs[best].median)
    return here


def _here_e4(samples: Samples) -> Here:
    shares = derive.brin_build_shares(samples)
    if not shares:
        return {}
    return {"brin_build_share_min": _plain(min(shares)), "brin_build_share_max": _plain(max(shares))}


HERE: dict[str, Callable[[Samples], Here]] = {
    "A1": _here_a1,
    "A2": _here_a2,
    "A3": _here_a3,
    "A4": _here_a4,
    "A5": _here_a5,
    "A8": _here_a8,
    "B": _here_b,
    "D": _here_d,
    "E2": _here_e2,
    "E3": _here_e3,
    "E4": _here_e4,
}


def ratio(here: float | None, published: float | None) -> float | None:
    """Returns here / published, or None if one of them is missing or published is zero."""
    if here is None or not published:
        return None
    return here / published


def read_share(read: Summary | None, hit: Summary | None) -> float | None:
    """C: returns the share of the accessed blocks that were read."""
    return read.median / (read.median + hit.median) if read and hit and read.median + hit.median else None
