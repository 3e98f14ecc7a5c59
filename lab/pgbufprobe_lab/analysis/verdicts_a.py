"""Verdicts on write-up A, the size of the pool: from samples to verdicts, one function for each experiment."""

from __future__ import annotations

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.medians import Samples, distinct, paired, pick, quotient, summarize
from pgbufprobe_lab.analysis.rules import (
    FAILS,
    UNKNOWN,
    Judged,
    Verdict,
    above,
    alike,
    all_of,
    at_least,
    at_most,
    proportional,
    within,
)
from pgbufprobe_page.formatting import number


def judge_a1(samples: Samples) -> list[Verdict]:
    judged = alike(derive.by_pool(samples, what="hit_ms"), "ms")
    return [
        Verdict(
            "A hit takes the same time in a small and in a large pool.",
            "the medians of the pools are within 25 % of each other; a larger difference counts only if the trials do "
            "not overlap",
            *judged,
        )
    ]


def judge_a2(samples: Samples) -> list[Verdict]:
    method = derive.pass_method(samples)
    passes = derive.by_pool(samples, what="pass_ms", method=method) if method else {}
    judged = proportional(passes, derive.pool_sizes(samples), "ms")
    moved = at_least(derive.moved_left(samples), 0.95, "at the predicted usage count:", "share")
    return [
        Verdict(
            "The cost of a pass is proportional to the pool.",
            f"the costs per GB of the pools are within a factor of 1.5 (method: {method or 'none'})",
            *judged,
        ),
        Verdict(
            "Each pass moves the histogram of usage counts one to the left.",
            "after each search that takes a whole number of passes, within a tenth of one, 95 % of the buffers are at "
            "the usage count that these passes predict",
            *moved,
        ),
    ]


def judge_a3(samples: Samples) -> list[Verdict]:
    page_cache_hits, pool_hits = summarize(derive.page_cache_hit(samples)), summarize(derive.pool_hit(samples))
    slower = above(page_cache_hits, pool_hits, 1.0, ("page cache", "pool"), "ms")
    gap = derive.page_cache_minus_pool(samples)
    judged = within(gap, 0.010, 0.100, "difference:", "ms")
    return [
        Verdict(
            "A hit in the pool is faster than one in the page cache.",
            "every trial's median in the page cache is above every trial's in the pool",
            *slower,
        ),
        Verdict(
            "The difference is tens of microseconds.",
            "the difference of the medians of each trial is between 0.010 and 0.100 ms",
            *judged,
        ),
    ]


def judge_a4(samples: Samples) -> list[Verdict]:
    updates, commits = derive.by_pool(samples, what="update_ms"), derive.by_pool(samples, what="commit_ms")
    both = all_of(
        [
            (outcome, f"{name}: {why}")
            for name, (outcome, why) in (("UPDATE", alike(updates, "ms")), ("COMMIT", alike(commits, "ms")))
        ]
    )
    update, commit = (summarize(pick(samples, what=what)) for what in ("update_ms", "commit_ms"))
    longer = above(commit, update, 1.0, ("COMMIT", "UPDATE"), "ms")
    return [
        Verdict(
            "Neither an update nor its commit depends on the pool's size.",
            "for each of the two, the medians of the pools are within 25 % of each other; a larger difference counts "
            "only if the trials do not overlap",
            *both,
        ),
        Verdict(
            "The commit, which waits for the WAL, takes longer than the update.",
            "every trial's median COMMIT is above every trial's median UPDATE, over all pools",
            *longer,
        ),
    ]


def judge_a5(samples: Samples) -> list[Verdict]:
    scans = derive.by_pool(samples, what="scan_ms", method="lock", stat="min")
    judged = proportional(scans, derive.pool_sizes(samples), "ms")
    return [
        Verdict(
            "The cost of a search of the whole pool for dirty pages is proportional to the pool.",
            "the costs per GB of the pools are within a factor of 1.5, with each header locked as by a checkpoint",
            *judged,
        )
    ]


def curve_shapes(samples: Samples, case: str) -> Judged:
    """A6: compares throughput relative to one client between the pools, for each number of clients."""
    tps = pick(samples, what="tps", case=case)
    judged = []
    for clients in distinct(tps, "x"):
        points = {
            pool: relative
            for pool in derive.POOLS
            if (relative := paired(pick(tps, pool=pool, x=clients), pick(tps, pool=pool, x=1), quotient))
        }
        if clients != 1 and len(points) > 1:
            outcome, why = alike(points, "times one client")
            judged.append((outcome, f"{number(clients)} clients: {why}"))
    if not judged:
        return UNKNOWN, "not measured for two pools with one client and with more"
    # A point that fails decides, else one that is unknown, else the one with the most clients.
    return next((one for wanted in (FAILS, UNKNOWN) for one in judged if one[0] == wanted), judged[-1])


def judge_a6(samples: Samples) -> list[Verdict]:
    verdicts = []
    for case, text in (
        ("hit", "with all pages in the pool"),
        ("os", "with a table that the page cache holds, but not the small pool"),
    ):
        judged = curve_shapes(samples, case)
        verdicts.append(
            Verdict(
                f"Throughput grows equally in both pools, {text}.",
                "throughput relative to one client in the same trial is within 25 % for each number of clients; a "
                "larger difference counts only if the trials do not overlap",
                *judged,
            )
        )
    return verdicts


def judge_a7(samples: Samples) -> list[Verdict]:
    begins = derive.first_storage_reads(samples)
    small, middle, large = (begins.get(pool) for pool in derive.POOLS)
    ends = "% of the table until storage reads begin"
    first = above(small, middle, 1.0, ("small", "middle"), ends)
    last = above(large, small, 1.0, ("large", "small"), ends)
    rule = (
        "compares the range at which 5 % of the reads go to storage, by linear interpolation; every trial of one size "
        "is before every trial of the other"
    )
    return [
        Verdict("Storage reads begin first with the middle size.", rule, *first),
        Verdict("Storage reads begin later with the large size than with the small one.", rule, *last),
    ]


def judge_a8(samples: Samples) -> list[Verdict]:
    kept = all_of(
        [
            at_least(derive.share_kept(samples, pool), 0.95, f"kept by the {pool} pool:", "share")
            for pool in ("small", "large")
        ]
    )
    os_share = summarize(pick(samples, what="share", pool="small", tier="os_cache", method="reads", moment="after"))
    lost = at_most(os_share, 0.05, "served by the page cache:", "share")
    return [
        Verdict(
            "The pool keeps its pages, because the scan uses a ring.",
            "every trial keeps 95 % of the blocks that the pool served before",
            *kept,
        ),
        Verdict(
            "The page cache keeps nothing.",
            "small pool: of all pages read one by one afterwards, the page cache serves at most 5 % in every trial",
            *lost,
        ),
    ]
