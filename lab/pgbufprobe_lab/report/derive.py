"""Figures that no sample holds by itself: differences, ratios, where a curve begins to rise. Pure arithmetic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pgbufprobe_lab.report.medians import (
    Samples,
    Summary,
    by_trial,
    distinct,
    grouped,
    of,
    paired,
    pick,
    quotient,
    difference,
    summarize,
)

POOLS = ("small", "middle", "large")
STORAGE_BEGINS = 0.05  # the share of reads from storage that counts as a beginning


def by_pool(samples: Samples, **wanted: Any) -> dict[str, Summary]:
    """A summary for each pool that was measured, small before large."""
    groups = ((pool, summarize(pick(samples, pool=pool, **wanted))) for pool in POOLS)
    return {pool: summary for pool, summary in groups if summary is not None}


def pool_sizes(samples: Samples) -> dict[str, float]:
    return {
        str(sample["pool"]): float(sample["pool_bytes"])
        for sample in samples
        if sample.get("pool") and sample.get("pool_bytes")
    }


def hit_difference(samples: Samples) -> float | None:
    """A1: the largest difference between the medians of the pools."""
    medians = [group.median for group in by_pool(samples, what="hit_ms").values()]
    return max(medians) - min(medians) if len(medians) > 1 else None


def pass_method(samples: Samples) -> str | None:
    """A2: the best way by which a turn's cost was measured: the server's own search, its replay, timed reads."""
    present = {sample.get("method") for sample in samples if sample["what"] == "pass_ms"}
    return next((method for method in ("live", "replay", "reads") if method in present), None)


def histogram_events(samples: Samples) -> list[dict[str, Any]]:
    """A2: the histograms around each event, {usage count or None: buffers}, with the turns between them."""
    events: dict[tuple[Any, ...], dict[str, Any]] = {}
    for sample in pick(samples, what="histogram"):
        key = (sample.get("pool"), sample.get("trial"), sample.get("kind"), sample.get("event"))
        event = events.setdefault(
            key,
            dict(
                zip(("pool", "trial", "kind", "event"), key, strict=True),
                passes=sample.get("passes"),
                before={},
                after={},
            ),
        )
        if sample.get("moment") in ("before", "after"):
            event[sample["moment"]][sample.get("x")] = float(sample["value"])
    return [event for event in events.values() if event["before"] and event["after"] and event["passes"]]


def shifted(histogram: Mapping[Any, float], turns: int) -> dict[Any, float]:
    """What a histogram becomes when the hand makes so many turns: each turn ages every buffer by one, down to 0."""
    after: dict[Any, float] = defaultdict(float)
    for count, buffers in histogram.items():
        after[None if count is None else max(0, count - turns)] += buffers
    return dict(after)


def agreement(expected: Mapping[Any, float], found: Mapping[Any, float]) -> float:
    """Share of the buffers that two histograms have in the same places."""
    total = max(sum(expected.values()), sum(found.values()))
    common = sum(min(expected.get(key, 0.0), found.get(key, 0.0)) for key in {*expected, *found})
    return common / total if total else 0.0


def moved_left(samples: Samples) -> Summary | None:
    """A2: for each event, the share of the pool that stands where the turns of the hand must have put it.

    Only events of whole turns, to a tenth: which buffers a part of a turn passed, a histogram does not tell.
    """
    shares = []
    for event in histogram_events(samples):
        turns = round(event["passes"])
        if turns >= 1 and abs(event["passes"] - turns) <= 0.1:
            shares.append(agreement(shifted(event["before"], turns), event["after"]))
    return of(shares)


def os_hit(samples: Samples) -> Samples:
    """A3: reads of pages that only the OS cache had."""
    return pick(samples, what="read_ms", pool="small", tier="os_cache")


def pool_hit(samples: Samples) -> Samples:
    """A3: reads of pages in the pool."""
    return pick(samples, what="read_ms", pool="large", tier="shared_buffers")


def os_minus_pool(samples: Samples) -> Summary | None:
    return paired(os_hit(samples), pool_hit(samples), difference)


def begins(curve: Mapping[float, float], threshold: float = STORAGE_BEGINS) -> float | None:
    """Where a curve first reaches the threshold, between its points on a straight line; None if it never does."""
    previous: tuple[float, float] | None = None
    for x, value in sorted(curve.items()):
        if value >= threshold:
            if previous is None or value == previous[1]:
                return x
            return previous[0] + (x - previous[0]) * (threshold - previous[1]) / (value - previous[1])
        previous = (x, value)
    return None


def storage_begins(samples: Samples) -> dict[str, Summary]:
    """A7: the range, in percent of the table, at which reads from storage begin; its end where they never do."""
    found: dict[str, Summary] = {}
    for pool in POOLS:
        shares = pick(samples, what="storage_share", pool=pool)
        starts = []
        for trial in {sample.get("trial") for sample in shares}:
            curve = {float(s["x"]): float(s["value"]) for s in shares if s.get("trial") == trial}
            starts.append(reached if (reached := begins(curve)) is not None else max(curve))
        if summary := of(starts):
            found[pool] = summary
    return found


def furthest(samples: Samples) -> float | None:
    """A7: the widest range that was read, in percent of the table."""
    ranges = distinct(pick(samples, what="storage_share"), "x")
    return ranges[-1] if ranges else None


def share_kept(samples: Samples, pool: str) -> Summary | None:
    """A8: what the pool still serves after the scan, of what it served before."""
    wanted = {"what": "share", "pool": pool, "tier": "shared_buffers", "method": "residency"}
    return paired(pick(samples, moment="after", **wanted), pick(samples, moment="before", **wanted), quotient)


def index_growth(samples: Samples, pool: str) -> Summary | None:
    """C: time for each of all indexes, over the time for the first one; 1 is linear."""
    seconds = pick(samples, what="seconds", pool=pool, order="random")
    counts = distinct(seconds, "x")
    if len(counts) < 3 or counts[:2] != [0, 1]:
        return None
    none, one, all_of_them = (by_trial(pick(seconds, x=count)) for count in (0, 1, counts[-1]))
    return of(
        (all_of_them[trial] - none[trial]) / counts[-1] / (one[trial] - none[trial])
        for trial in none
        if trial in one and trial in all_of_them and one[trial] > none[trial]
    )


def blocks_needed(samples: Samples, order: str) -> Samples:
    """D: blocks that the count over one c_id touched, read or hit, as samples."""
    wanted = {"query": "c_id = 1", "order": order, "x": 2, "pool": "small"}
    read, hit = (by_trial(pick(samples, what=what, **wanted)) for what in ("heap_blks_read", "heap_blks_hit"))
    return [{"trial": trial, "value": read[trial] + hit[trial]} for trial in read if trial in hit]


def write10_write1(samples: Samples) -> Summary | None:
    """E2: the ratio of the medians at each number of clients, as a summary over the numbers of clients."""
    simple = pick(samples, what="tps", variant="simple")
    ten, one = (grouped(pick(simple, script=script), "x") for script in ("write10", "write1"))
    return of(ten[clients].median / one[clients].median for clients in ten if clients in one and one[clients].median)


def vacuum_by_jobs(samples: Samples) -> dict[float, Summary]:
    """E3: seconds for each number of jobs, with the shorter of the checkpoint targets."""
    seconds = pick(samples, what="seconds", checkpoint_completion_target=(0.5, "0.5"))
    return grouped(seconds, "x")


def brin_build_shares(samples: Samples) -> list[float]:
    """E4: build time of each BRIN index as a share of the B-tree's on the same rows."""
    builds = pick(samples, what="build_seconds")
    shares = []
    for order in distinct(builds, "order"):
        btree = summarize(pick(builds, order=order, index="btree"))
        for brin in grouped(pick(builds, order=order, index="brin"), "x").values():
            if btree and btree.median:
                shares.append(brin.median / btree.median)
    return shares


def best_brin(samples: Samples, what: str, order: str) -> Summary | None:
    """E4: reads with the pages_per_range that served them best."""
    groups = grouped(pick(samples, what=what, order=order, index="brin"), "x").values()
    return min(groups, key=lambda group: group.median, default=None)
