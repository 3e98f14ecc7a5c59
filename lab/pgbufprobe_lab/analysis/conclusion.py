"""The conclusion of write-up A for this machine: a small, a middle or a large pool, and why.

Published: 25 % of memory when memory must stay flexible, 75 % when speed has priority and memory is planned, 50 %
never. A7 decides, because it shows how much of a table the two caches hold together. The other experiments show
the cost of the choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.medians import Samples, Summary
from pgbufprobe_page.formatting import number, with_unit


@dataclass(frozen=True)
class Conclusion:
    """The recommended pool size for this machine, and its reasons."""

    headline: str
    reasons: tuple[str, ...]
    rule: str


SHARES = {"small": "25 %", "middle": "50 %", "large": "75 %"}
POINTS = 5.0  # percent of the table by which one size must lead another

RULE = (
    "the fastest size is the one whose storage reads begin at the widest range (A7). It must lead by 5 percent of the "
    "table with trials that do not overlap; otherwise the smaller size is as fast and leaves memory free. Published: "
    "75 % when speed has priority and memory is planned, 25 % when it must stay flexible, 50 % never"
)


def named(pool: str, sizes: Mapping[str, float]) -> str:
    size = f", {with_unit(sizes[pool], 'bytes')}" if pool in sizes else ""
    return f"{pool} pool ({SHARES[pool]} of the memory{size})"


def leads(one: Summary, other: Summary) -> bool:
    """Returns whether one range is clearly wider: by some percent of the table, and in every trial."""
    return one.median >= other.median + POINTS and one.low > other.high


def choose(begins: Mapping[str, Summary]) -> str | None:
    """Returns the smallest size that no other one leads, or None unless all three were measured."""
    if set(begins) != set(derive.POOLS):
        return None
    for pool in derive.POOLS:
        if not any(leads(begins[other], begins[pool]) for other in derive.POOLS if other != pool):
            return pool
    return None


def headline(begins: Mapping[str, Summary], widest: float | None, sizes: Mapping[str, float]) -> str:
    choice = choose(begins)
    if choice is None:
        return "No size can be recommended from this run"
    if widest is not None and all(begin.low >= widest for begin in begins.values()):
        return "No size can be recommended: no pool needed reads from storage"
    if choice == "small":
        return f"Use the {named('small', sizes)}: a larger one does not avoid more storage reads"
    if choice == "middle":
        return f"Use the {named('middle', sizes)}: it avoids the most storage reads"
    return (
        f"Use the {named('large', sizes)} when speed has priority and memory is planned, the "
        f"{named('small', sizes)} when memory must stay flexible"
    )


def _from_a7(samples: Samples, begins: Mapping[str, Summary]) -> list[str]:
    if set(begins) != set(derive.POOLS):
        missing = [pool for pool in derive.POOLS if pool not in begins]
        return [f"The range at which storage reads begin (A7) was not measured for: {', '.join(missing)}."]
    widest = derive.widest_range(samples)
    places = []
    for pool, begin in begins.items():
        beyond = widest is not None and begin.median >= widest
        places.append(f"{pool} {'never' if beyond else f'at {number(begin.median)} %'}")
    text = f"Reads from storage begin at these percentages of the table (A7): {', '.join(places)}."
    worst = min(begins, key=lambda pool: begins[pool].median)
    others = [begins[pool] for pool in begins if pool != worst]
    if all(leads(other, begins[worst]) for other in others):
        text += f" The {worst} pool is the worst choice: with it, the two caches hold the fewest different pages."
    return [text]


def _from_a2(samples: Samples) -> list[str]:
    method = derive.pass_method(samples)
    passes = derive.by_pool(samples, what="pass_ms", method=method) if method else {}
    if not passes:
        return []
    pool = list(passes)[-1]
    cost = passes[pool].median
    return [
        f"The cost of a {pool} pool is the search for a page to evict: {number(cost)} ms for one pass, so about "
        f"{number(5 * cost)} ms for a read that finds every page at usage count 5 (A2)."
    ]


def _from_a3(samples: Samples) -> list[str]:
    gap = derive.page_cache_minus_pool(samples)
    if gap is None:
        return []
    if gap.median <= 0:
        return ["A read from the page cache was not slower than one from the pool (A3)."]
    return [
        f"The cost of a small pool, while memory is sufficient, is {number(1000 * gap.median)} µs for each read "
        f"from the page cache (A3)."
    ]


def _from_a8(samples: Samples) -> list[str]:
    kept = derive.share_kept(samples, "large")
    lost = derive.by_pool(samples, what="share", tier="os_cache", method="reads", moment="after").get("small")
    if kept is None or lost is None:
        return []
    return [
        f"After a large sequential scan, the large pool kept {with_unit(kept.median, 'share')} of its pages; with the "
        f"small pool, the page cache served {with_unit(lost.median, 'share')} of the reads (A8)."
    ]


def conclude(samples: Mapping[str, Samples]) -> Conclusion:
    """Draws the conclusion from the samples of each scenario that was run."""
    a7 = samples.get("A7", ())
    begins = derive.first_storage_reads(a7)
    sizes = derive.pool_sizes(a7)
    reasons = _from_a7(a7, begins) + _from_a2(samples.get("A2", ())) + _from_a3(samples.get("A3", ()))
    reasons += _from_a8(samples.get("A8", ()))
    return Conclusion(headline(begins, derive.widest_range(a7), sizes), tuple(reasons), RULE)
