"""Derives figures from several samples: differences, ratios, and where a curve crosses a threshold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pgbufprobe_lab.analysis.medians import (
    Samples,
    Summary,
    by_trial,
    difference,
    distinct,
    grouped,
    paired,
    pick,
    quotient,
    summarize,
    summary_of,
)
from pgbufprobe_lab.samples import ONE_HAND

POOLS = ("small", "middle", "large")
STORAGE_THRESHOLD = 0.05  # share of reads from storage from which they count as begun


def by_pool(samples: Samples, **wanted: Any) -> dict[str, Summary]:
    """Returns a summary for each pool that was measured, from small to large."""
    groups = ((pool, summarize(pick(samples, pool=pool, **wanted))) for pool in POOLS)
    return {pool: summary for pool, summary in groups if summary is not None}


def pool_sizes(samples: Samples) -> dict[str, float]:
    return {
        str(sample["pool"]): float(sample["pool_bytes"])
        for sample in samples
        if sample.get("pool") and sample.get("pool_bytes")
    }


def hit_difference(samples: Samples) -> float | None:
    """A1: returns the largest difference between the medians of the pools."""
    medians = [group.median for group in by_pool(samples, what="hit_ms").values()]
    return max(medians) - min(medians) if len(medians) > 1 else None


def pass_method(samples: Samples) -> str | None:
    """A2: returns the best available method for the cost of a pass: live search, replay, or timed reads."""
    present = {sample.get("method") for sample in samples if sample["what"] == "pass_ms"}
    return next((method for method in ("live", "replay", "reads") if method in present), None)


def histogram_events(samples: Samples) -> list[dict[str, Any]]:
    """A2: returns the histograms before and after each event, {usage count or None: buffers}, and its passes."""
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


def shown_events(samples: Samples) -> list[dict[str, Any]]:
    """A2: returns one event for each pool: a read of the first trial if there is one, else a live search."""
    events = sorted(histogram_events(samples), key=lambda e: (e["kind"] != "read", e["trial"] or 0, e["event"] or 0))
    chosen = (next((event for event in events if event["pool"] == pool), None) for pool in POOLS)
    return [event for event in chosen if event]


def shifted(histogram: Mapping[Any, float], passes: int) -> dict[Any, float]:
    """Returns a histogram after some passes; each pass decrements the usage count of each buffer, down to 0."""
    after: dict[Any, float] = defaultdict(float)
    for count, buffers in histogram.items():
        after[None if count is None else max(0, count - passes)] += buffers
    return dict(after)


def agreement(expected: Mapping[Any, float], found: Mapping[Any, float]) -> float:
    """Returns the share of buffers that two histograms have at the same usage count."""
    total = max(sum(expected.values()), sum(found.values()))
    common = sum(min(expected.get(key, 0.0), found.get(key, 0.0)) for key in {*expected, *found})
    return common / total if total else 0.0


def moved_left(samples: Samples) -> Summary | None:
    """A2: returns, over all events, the share of the pool at the usage count that the passes predict.

    Only events that take a whole number of passes, within a tenth of one, count. A histogram does not show which
    buffers a part of a pass visited.
    """
    shares = []
    for event in histogram_events(samples):
        passes = round(event["passes"])
        if passes >= 1 and abs(event["passes"] - passes) <= 0.1:
            shares.append(agreement(shifted(event["before"], passes), event["after"]))
    return summary_of(shares)


def page_cache_hit(samples: Samples) -> Samples:
    """A3: returns the reads of pages that only the page cache held."""
    return pick(samples, what="read_ms", pool="small", tier="os_cache")


def pool_hit(samples: Samples) -> Samples:
    """A3: returns the reads of pages in the pool."""
    return pick(samples, what="read_ms", pool="large", tier="shared_buffers")


def page_cache_minus_pool(samples: Samples) -> Summary | None:
    return paired(page_cache_hit(samples), pool_hit(samples), difference)


def crossing(curve: Mapping[float, float], threshold: float = STORAGE_THRESHOLD) -> float | None:
    """Returns where a curve first reaches the threshold, by linear interpolation, or None if it never does."""
    previous: tuple[float, float] | None = None
    for x, value in sorted(curve.items()):
        if value >= threshold:
            if previous is None or value == previous[1]:
                return x
            return previous[0] + (x - previous[0]) * (threshold - previous[1]) / (value - previous[1])
        previous = (x, value)
    return None


def first_storage_reads(samples: Samples) -> dict[str, Summary]:
    """A7: returns for each pool the range, in percent of the table, at which storage reads begin, or the widest
    range if they never do."""
    found: dict[str, Summary] = {}
    for pool in POOLS:
        shares = pick(samples, what="storage_share", pool=pool)
        starts = []
        for trial in {sample.get("trial") for sample in shares}:
            curve = {float(s["x"]): float(s["value"]) for s in shares if s.get("trial") == trial}
            starts.append(reached if (reached := crossing(curve)) is not None else max(curve))
        if summary := summary_of(starts):
            found[pool] = summary
    return found


def widest_range(samples: Samples) -> float | None:
    """A7: returns the widest range that was read, in percent of the table."""
    ranges = distinct(pick(samples, what="storage_share"), "x")
    return ranges[-1] if ranges else None


def share_kept(samples: Samples, pool: str) -> Summary | None:
    """A8: returns the share of the blocks in the pool before the scan that it still serves after it."""
    wanted = {"what": "share", "pool": pool, "tier": "shared_buffers", "method": "residency"}
    return paired(pick(samples, moment="after", **wanted), pick(samples, moment="before", **wanted), quotient)


def index_growth(samples: Samples, pool: str) -> Summary | None:
    """C: returns the time per index for all indexes, relative to the first index; 1 is linear."""
    seconds = pick(samples, what="seconds", pool=pool, order="random")
    counts = distinct(seconds, "x")
    if len(counts) < 3 or counts[:2] != [0, 1]:
        return None
    none, one, all_of_them = (by_trial(pick(seconds, x=count)) for count in (0, 1, counts[-1]))
    return summary_of(
        (all_of_them[trial] - none[trial]) / counts[-1] / (one[trial] - none[trial])
        for trial in none
        if trial in one and trial in all_of_them and one[trial] > none[trial]
    )


def blocks_needed(samples: Samples, order: str) -> Samples:
    """D: returns the blocks, read or hit, of the count over one c_id, as samples."""
    wanted = {"query": "c_id = 1", "order": order, "x": 2, "pool": "small"}
    read, hit = (by_trial(pick(samples, what=what, **wanted)) for what in ("heap_blks_read", "heap_blks_hit"))
    return [{"trial": trial, "value": read[trial] + hit[trial]} for trial in read if trial in hit]


def write10_write1(samples: Samples) -> Summary | None:
    """E2: summarizes the ratio of the medians over the numbers of clients."""
    simple = pick(samples, what="tps", variant="simple")
    ten, one = (grouped(pick(simple, script=script), "x") for script in ("write10", "write1"))
    return summary_of(
        ten[clients].median / one[clients].median for clients in ten if clients in one and one[clients].median
    )


def vacuum_by_jobs(samples: Samples) -> dict[float, Summary]:
    """E3: returns the seconds for each number of jobs, with the shorter checkpoint target."""
    seconds = pick(samples, what="seconds", checkpoint_completion_target=(0.5, "0.5"))
    return grouped(seconds, "x")


def brin_build_shares(samples: Samples) -> list[float]:
    """E4: returns the build time of each BRIN index as a share of that of the B-tree on the same rows."""
    builds = pick(samples, what="build_seconds")
    shares: list[float] = []
    for order in distinct(builds, "order"):
        btree = summarize(pick(builds, order=order, index="btree"))
        if btree and btree.median:
            brins = grouped(pick(builds, order=order, index="brin"), "x").values()
            shares.extend(brin.median / btree.median for brin in brins)
    return shares


def best_brin(samples: Samples, what: str, order: str) -> Summary | None:
    """E4: returns the time of reads with the best pages_per_range."""
    groups = grouped(pick(samples, what=what, order=order, index="brin"), "x").values()
    return min(groups, key=lambda group: group.median, default=None)


def change_of_misses(samples: Samples, load: str, policy: str) -> Summary | None:
    """F: returns the change of the miss ratio by another sweep, and its interval, each the median of the trials."""
    found = pick(samples, what="change", load=load, policy=policy)
    low, median, high = (summarize(pick(found, stat=stat)) for stat in ("low", "median", "high"))
    return low and median and high and Summary(median.median, low.median, high.median, median.trials)


def misses(samples: Samples, load: str, policy: str) -> Summary | None:
    """F: returns the miss ratio of a sweep, with the interval of its difference to one hand."""
    one = summarize(pick(samples, what="miss_ratio", load=load, policy=ONE_HAND))
    more = change_of_misses(samples, load, policy)
    return one and more and Summary(*(one.median + end for end in (more.median, more.low, more.high)), more.trials)
