"""The conclusion of write-up A for this machine: a small, a middle or a large pool, and what decides it.

There: 25 % of memory when memory must stay flexible, 75 % when speed comes first and memory is planned, 50 %
never. What decides is how much of a table the two caches hold together (A7); the other experiments say
what the choice costs.
"""

from __future__ import annotations

from collections.abc import Mapping

from pgbufprobe_lab.report import derive
from pgbufprobe_lab.report.format import number, with_unit
from pgbufprobe_lab.report.medians import Samples, Summary
from pgbufprobe_lab.report.model import Answer

SHARES = {"small": "25 %", "middle": "50 %", "large": "75 %"}
POINTS = 5.0  # percent of the table by which one size must serve more than another

RULE = (
    "the size whose storage reads begin at the widest range (A7) serves speed; it must lead by 5 percent of the table "
    "with trials that do not overlap, else the smaller size does as well and leaves memory free. Published: "
    "75 % when speed comes first and memory is planned, 25 % when it must stay flexible, 50 % never"
)


def named(pool: str, sizes: Mapping[str, float]) -> str:
    size = f", {with_unit(sizes[pool], 'bytes')}" if pool in sizes else ""
    return f"{pool} pool ({SHARES[pool]} of the memory{size})"


def leads(one: Summary, other: Summary) -> bool:
    """Clearly the wider range: by more than a few points, and in every trial."""
    return one.median >= other.median + POINTS and one.low > other.high


def choose(begins: Mapping[str, Summary]) -> str | None:
    """The smallest size that no other one clearly leads; None unless all three were measured."""
    if set(begins) != set(derive.POOLS):
        return None
    for pool in derive.POOLS:
        if not any(leads(begins[other], begins[pool]) for other in derive.POOLS if other != pool):
            return pool
    return None


def headline(begins: Mapping[str, Summary], furthest: float | None, sizes: Mapping[str, float]) -> str:
    choice = choose(begins)
    if choice is None:
        return "No size can be recommended from this run"
    if furthest is not None and all(begin.low >= furthest for begin in begins.values()):
        return "No size can be recommended: none of them needed the disk"
    if choice == "small":
        return f"Take the {named('small', sizes)}: a larger one serves no more without the disk"
    if choice == "middle":
        return f"Take the {named('middle', sizes)}: here it serves the most without the disk"
    return (
        f"Take the {named('large', sizes)} when speed comes first and the memory is planned, the "
        f"{named('small', sizes)} when memory must stay free for other things"
    )


def _from_a7(samples: Samples, begins: Mapping[str, Summary]) -> list[str]:
    if set(begins) != set(derive.POOLS):
        missing = [pool for pool in derive.POOLS if pool not in begins]
        return [
            f"What decides, the range at which storage reads begin (A7), was not measured for: {', '.join(missing)}."
        ]
    furthest = derive.furthest(samples)
    places = []
    for pool, begin in begins.items():
        beyond = furthest is not None and begin.median >= furthest
        places.append(f"{pool} {'not at all' if beyond else f'at {number(begin.median)} %'}")
    text = f"What decides is where reads from storage begin, in percent of the table (A7): {', '.join(places)}."
    worst = min(begins, key=lambda pool: begins[pool].median)
    others = [begins[pool] for pool in begins if pool != worst]
    if all(leads(other, begins[worst]) for other in others):
        text += f" The {worst} pool is the worst choice: it keeps the fewest different pages."
    return [text]


def _from_a2(samples: Samples) -> list[str]:
    method = derive.pass_method(samples)
    turns = derive.by_pool(samples, what="pass_ms", method=method) if method else {}
    if not turns:
        return []
    pool = list(turns)[-1]
    turn = turns[pool].median
    return [
        f"The price of a {pool} pool is the search for a page to evict: {number(turn)} ms for one turn, so about "
        f"{number(5 * turn)} ms for the one unlucky read that finds every page at usage count 5 (A2)."
    ]


def _from_a3(samples: Samples) -> list[str]:
    gap = derive.os_minus_pool(samples)
    if gap is None:
        return []
    if gap.median <= 0:
        return ["A read that the operating system's cache serves was no slower than one from the pool (A3)."]
    return [
        f"The price of a small pool, while memory is not short, is {number(1000 * gap.median)} µs for each read "
        f"that only the operating system's cache can serve (A3)."
    ]


def _from_a8(samples: Samples) -> list[str]:
    kept = derive.share_kept(samples, "large")
    lost = derive.by_pool(samples, what="share", tier="os_cache", method="reads", moment="after").get("small")
    if kept is None or lost is None:
        return []
    return [
        f"After one big sequential scan the large pool kept {with_unit(kept.median, 'share')} of its pages; the "
        f"operating system's cache served {with_unit(lost.median, 'share')} of the reads in the small one (A8)."
    ]


def conclude(samples: Mapping[str, Samples]) -> Answer:
    """From the samples of each scenario that was run."""
    a7 = samples.get("A7", ())
    begins = derive.storage_begins(a7)
    sizes = derive.pool_sizes(a7)
    reasons = _from_a7(a7, begins) + _from_a2(samples.get("A2", ())) + _from_a3(samples.get("A3", ()))
    reasons += _from_a8(samples.get("A8", ()))
    return Answer(headline(begins, derive.furthest(a7), sizes), tuple(reasons), RULE)
