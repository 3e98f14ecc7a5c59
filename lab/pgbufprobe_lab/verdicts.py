"""From samples to verdicts, a function for each experiment: no files, no layout.

Every verdict carries the rule it was judged by, in words. What the trials cannot settle is not settled here.
"""

from __future__ import annotations

from collections.abc import Callable

from pgbufprobe_lab.report import derive
from pgbufprobe_lab.report.format import number, size
from pgbufprobe_lab.report.medians import (
    Samples,
    Summary,
    best_of,
    distinct,
    grouped,
    of,
    paired,
    pick,
    quotient,
    summarize,
)
from pgbufprobe_lab.report.rules import (
    FAILS,
    HOLDS,
    UNKNOWN,
    Judged,
    Verdict,
    above,
    alike,
    all_of,
    at_least,
    at_most,
    proportional,
)

# ---- A: the size of the pool ----


def judge_a1(samples: Samples) -> list[Verdict]:
    outcome, why = alike(derive.by_pool(samples, what="hit_ms"), "ms")
    return [
        Verdict(
            "A hit takes the same time in a small and in a large pool.",
            outcome,
            "medians of the pools within 25 % of each other; further apart, the trials must not overlap",
            why,
        )
    ]


def judge_a2(samples: Samples) -> list[Verdict]:
    method = derive.pass_method(samples)
    turns = derive.by_pool(samples, what="pass_ms", method=method) if method else {}
    outcome, why = proportional(turns, derive.pool_sizes(samples), "ms")
    moved_outcome, moved_why = at_least(derive.moved_left(samples), 0.95, "in their place", "share")
    return [
        Verdict(
            "A turn of the hand costs in proportion to the pool.",
            outcome,
            f"cost per GB of the pools within a factor of 1.5 (method: {method or 'none'})",
            why,
        ),
        Verdict(
            "Each turn moves the histogram of usage counts one to the left.",
            moved_outcome,
            "around each search of whole turns, to a tenth, 95 % of the buffers stand where these turns put them",
            moved_why,
        ),
    ]


def judge_a3(samples: Samples) -> list[Verdict]:
    os_hits, pool_hits = summarize(derive.os_hit(samples)), summarize(derive.pool_hit(samples))
    slower, slower_why = above(os_hits, pool_hits, 1.0, ("OS cache", "pool"), "ms")
    gap = derive.os_minus_pool(samples)
    judged = all_of([at_least(gap, 0.010, "difference:", "ms"), at_most(gap, 0.100, "difference:", "ms")])
    return [
        Verdict(
            "A hit in the pool is faster than one in the operating system's cache.",
            slower,
            "every trial's median in the OS cache above every trial's in the pool",
            slower_why,
        ),
        Verdict(
            "The difference is tens of microseconds.",
            judged[0],
            "the difference of the medians of each trial between 0.010 and 0.100 ms",
            judged[1].split("; ")[0],
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
            both[0],
            "for each of the two, medians of the pools within 25 % of each other; further apart, the trials must "
            "not overlap",
            both[1],
        ),
        Verdict(
            "The commit, which waits for the log, takes longer than the update.",
            longer[0],
            "every trial's median COMMIT above every trial's median UPDATE, all pools together",
            longer[1],
        ),
    ]


def judge_a5(samples: Samples) -> list[Verdict]:
    scans = derive.by_pool(samples, what="scan_ms", method="lock", stat="avg")
    outcome, why = proportional(scans, derive.pool_sizes(samples), "ms")
    return [
        Verdict(
            "A search of the whole pool for dirty pages costs in proportion to the pool.",
            outcome,
            "cost per GB of the pools within a factor of 1.5, each header locked as a checkpoint does",
            why,
        )
    ]


def curve_shapes(samples: Samples, case: str) -> Judged:
    """A6: throughput relative to one client, compared between the pools at each number of clients."""
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
        return UNKNOWN, "not measured for two pools with one and with more clients"
    # The point that decides: one that does not hold, else one that is open, else the one with the most clients.
    return next((one for wanted in (FAILS, UNKNOWN) for one in judged if one[0] == wanted), judged[-1])


def judge_a6(samples: Samples) -> list[Verdict]:
    verdicts = []
    for case, text in (
        ("hit", "all pages in the pool"),
        ("os", "a table that the small pool cannot hold, but the OS cache can"),
    ):
        outcome, why = curve_shapes(samples, case)
        verdicts.append(
            Verdict(
                f"Throughput grows alike in both pools, {text}.",
                outcome,
                "throughput relative to one client in the same trial, within 25 % for any number of clients; "
                "further apart, the trials must not overlap",
                why,
            )
        )
    return verdicts


def judge_a7(samples: Samples) -> list[Verdict]:
    begins = derive.storage_begins(samples)
    small, middle, large = (begins.get(pool) for pool in derive.POOLS)
    ends = "% of the table is where storage reads begin"
    first = above(small, middle, 1.0, ("small", "middle"), ends)
    last = above(large, small, 1.0, ("large", "small"), ends)
    rule = (
        "the range at which 5 % of the reads go to storage, on a straight line between the ranges; every trial of "
        "one size before every trial of the other"
    )
    return [
        Verdict("The middle size is the first to need the disk.", first[0], rule, first[1]),
        Verdict("The large size needs it later than the small one.", last[0], rule, last[1]),
    ]


def judge_a8(samples: Samples) -> list[Verdict]:
    kept = all_of(
        [
            at_least(derive.share_kept(samples, pool), 0.95, f"kept by the {pool} pool:", "share")
            for pool in ("small", "large")
        ]
    )
    os_share = summarize(pick(samples, what="share", pool="small", tier="os_cache", method="reads", moment="after"))
    lost = at_most(os_share, 0.05, "served by the OS cache:", "share")
    return [
        Verdict(
            "The pool keeps its pages: the big scan goes through a ring.",
            kept[0],
            "every trial keeps 95 % of the blocks that the pool served before",
            kept[1],
        ),
        Verdict(
            "The operating system's cache keeps nothing.",
            lost[0],
            "small pool: of all pages read one by one afterwards, the OS cache serves at most 5 % in every trial",
            lost[1],
        ),
    ]


# ---- B, C, D ----


def judge_b(samples: Samples) -> list[Verdict]:
    def ends(what: str) -> tuple[Summary | None, Summary | None]:
        groups = list(grouped(pick(samples, what=what), "x").values())
        return (groups[0], groups[-1]) if len(groups) > 1 else (None, None)

    names = ("smallest ring", "largest ring")
    (few, many), (short, long), (late, soon) = ends("vacuum_writes"), ends("checkpoint_buffers"), ends("vacuum_seconds")
    writes = above(few, many, 1.5, names, "writes")
    checkpoint = above(long, short, 1.5, names[::-1], "buffers")
    time = above(late, soon, 1.1, names, "s")
    return [
        Verdict(
            "A larger ring lets vacuum write less.",
            writes[0],
            "the smallest ring writes at least 1.5 times as often as the largest",
            writes[1],
        ),
        Verdict(
            "The next checkpoint writes what vacuum left.",
            checkpoint[0],
            "after the largest ring the checkpoint writes at least 1.5 times as many buffers as after the smallest",
            checkpoint[1],
        ),
        Verdict(
            "A larger ring shortens the vacuum.",
            time[0],
            "the smallest ring takes at least 1.1 times as long as the largest",
            time[1],
        ),
    ]


def judge_c(samples: Samples) -> list[Verdict]:
    most = max(distinct(pick(samples, order="random"), "x"), default=None)

    def at_end(what: str, pool: str) -> Summary | None:
        return summarize(pick(samples, what=what, pool=pool, order="random", x=most))

    indexes, pools = at_end("index_bytes", "small"), derive.pool_sizes(samples)
    fits = indexes is not None and "small" in pools and indexes.median <= pools["small"]
    if fits:
        reads: Judged = (UNKNOWN, f"the indexes ({size(indexes.median)}) fit the small pool ({size(pools['small'])})")
        faster: Judged = reads
    else:
        reads = above(at_end("read", "small"), at_end("read", "large"), 10, ("small pool", "large pool"), "blocks read")
        faster = at_least(derive.index_growth(samples, "small"), 1.5, "small pool, each index against the first:", "x")
    linear = at_most(derive.index_growth(samples, "large"), 1.5, "large pool, each index against the first:", "x")
    rule = "random values: time for each of all indexes, over the time for the first one, "
    return [
        Verdict(
            "With a pool smaller than the indexes, reads explode.",
            reads[0],
            "random values, all indexes: the small pool reads at least 10 times the large pool's blocks",
            reads[1],
        ),
        Verdict(
            "There, time grows faster than linearly with the indexes.", faster[0], rule + "at least 1.5", faster[1]
        ),
        Verdict("With a pool that holds them, time stays nearly linear.", linear[0], rule + "at most 1.5", linear[1]),
    ]


def judge_d(samples: Samples) -> list[Verdict]:
    def reads(query: str, pool: str) -> Summary | None:
        return summarize(pick(samples, what="heap_blks_read", query=query, order="p_id", pool=pool, x=2))

    again = at_most(reads("c_id = 1", "small"), 0, "second run:", "blocks read")
    order = at_least(
        paired(derive.blocks_needed(samples, "p_id"), derive.blocks_needed(samples, "c_id"), quotient),
        5,
        "blocks for scattered over ordered rows:",
        "x",
    )
    many = all_of(
        [
            at_least(reads("c_id < 150", "small"), 1, "small pool:", "blocks read"),
            at_most(reads("c_id < 150", "large"), 0, "large pool:", "blocks read"),
        ]
    )
    return [
        Verdict(
            "The second run reads nothing.",
            again[0],
            "c_id = 1, small pool: no block of the table read in the second run of any trial",
            again[1],
        ),
        Verdict(
            "Physical order decides how much cache a query needs.",
            order[0],
            "c_id = 1 touches at least 5 times as many blocks where its rows are scattered",
            order[1],
        ),
        Verdict(
            "A query that needs more than the pool reads again and again; a pool that holds it ends that.",
            many[0],
            "c_id < 150, second run: blocks read in every trial of the small pool, none in any of the large one",
            many[1],
        ),
    ]


# ---- E: the workloads ----


BUSY = 1.4  # clients for each CPU: the curve was flat from 100 clients on 72 cores


def judge_e1(samples: Samples, cpus: int | None = None) -> list[Verdict]:
    curve = grouped(pick(samples, what="tps"), "x")
    peak = best_of(curve)
    grows = above(curve.get(peak), curve.get(1), 1.25, (f"{number(peak)} clients", "1 client"), "tps")
    busy = {f"{number(clients)} clients": group for clients, group in curve.items() if cpus and clients >= BUSY * cpus}
    if len(busy) < 2:
        flat: Judged = (UNKNOWN, f"fewer than two numbers of clients keep {cpus or 'an unknown number of'} CPUs busy")
    else:
        flat = alike(busy, "tps")
    return [
        Verdict(
            "Read throughput grows with the clients.",
            grows[0],
            "the best number of clients reaches 1.25 times the throughput of one",
            grows[1],
        ),
        Verdict(
            "Once all CPUs are busy it stays flat.",
            flat[0],
            "with 1.4 clients for each CPU and more, as published, medians within 25 % of each other; further apart, "
            "the trials must not overlap",
            flat[1],
        ),
        Verdict(
            "9.5 passes 9.4 from 64 clients on.",
            UNKNOWN,
            "needs both versions, and CPUs for 64 clients",
            "neither version is supported any more; what changed there, lock code, is in every server of today",
        ),
    ]


def judge_e2(samples: Samples) -> list[Verdict]:
    twice = at_least(derive.write10_write1(samples), 1.5, "write10 / write1, median over the numbers of clients:", "x")
    simple = pick(samples, what="tps", variant="simple")
    prepared = pick(samples, what="tps", variant="prepared")
    ratios = []
    for script in distinct(prepared, "script"):
        for clients in distinct(pick(prepared, script=script), "x"):
            found = paired(pick(prepared, script=script, x=clients), pick(simple, script=script, x=clients), quotient)
            if found:
                ratios.append(found.median)
    gain = at_least(of(ratios), 1.05, "prepared / simple:", "x")
    return [
        Verdict(
            "Ten updates in one transaction reach about twice the throughput.",
            twice[0],
            "write10 does at least 1.5 times the updates of write1 at every number of clients",
            twice[1],
        ),
        Verdict(
            "Prepared statements help.",
            gain[0],
            "-M prepared at least 1.05 times as fast, for each script that was run both ways",
            gain[1],
        ),
    ]


def judge_e3(samples: Samples) -> list[Verdict]:
    by_jobs = derive.vacuum_by_jobs(samples)
    best = best_of(by_jobs, lowest=True)
    more = above(by_jobs.get(1), by_jobs.get(best), 1.25, ("1 job", f"{number(best)} jobs"), "s")
    most = max(by_jobs, default=None)
    if most and most > 1 and 1 in by_jobs:
        speedup = by_jobs[1].median / by_jobs[most].median
        less = (HOLDS if speedup < 0.9 * most else FAILS, f"{number(speedup)} times as fast by {number(most)} jobs")
    else:
        less = (UNKNOWN, "not measured with one job and with more")
    late = pick(samples, what="seconds", checkpoint_completion_target=(0.9, "0.9"))
    jobs = max(distinct(late, "x"), default=None)
    spread = above(summarize(pick(late, x=jobs)), by_jobs.get(jobs), 1.25, ("target 0.9", "target 0.5"), "s")
    return [
        Verdict(
            "More jobs shorten the vacuum.", more[0], "the best number of jobs is 1.25 times as fast as one", more[1]
        ),
        Verdict(
            "The gain is less than in proportion to the jobs.",
            less[0],
            "with the most jobs, the speed-up of the medians is below 0.9 times their number",
            less[1],
        ),
        Verdict(
            "checkpoint_completion_target 0.9 instead of 0.5 makes it slower.",
            spread[0],
            "at least 1.25 times the seconds, with the same jobs (published: 245 and 500 s)",
            spread[1],
        ),
    ]


def judge_e4(samples: Samples) -> list[Verdict]:
    build = at_most(of(derive.brin_build_shares(samples)), 0.25, "BRIN / B-tree, median over all:", "share")

    def reads(index: str, order: str) -> Summary | None:
        return summarize(pick(samples, what="range_ms", order=order, index=index))

    near = at_most(
        paired_ratio(derive.best_brin(samples, "range_ms", "sorted"), reads("btree", "sorted")),
        3,
        "BRIN / B-tree:",
        "x",
    )
    ratio = paired_ratio(derive.best_brin(samples, "range_ms", "random"), reads("none", "random"))
    scan = all_of([at_least(ratio, 0.5, "BRIN / no index:", "x"), at_most(ratio, 2.0, "BRIN / no index:", "x")])
    return [
        Verdict(
            "A BRIN index is built in a fraction of the B-tree's time.",
            build[0],
            "every BRIN index in at most a quarter of the B-tree's time (published: 9 to 15 %)",
            build[1],
        ),
        Verdict(
            "On sorted data BRIN reads are near the B-tree's.",
            near[0],
            "1 % of the keys, best pages_per_range: at most 3 times the B-tree's time",
            near[1],
        ),
        Verdict(
            "On random data BRIN is like a sequential scan.",
            scan[0],
            "1 % of the keys, best pages_per_range: 0.5 to 2 times the time without an index",
            scan[1].split("; ")[0],
        ),
    ]


def paired_ratio(one: Summary | None, other: Summary | None) -> Summary | None:
    """One summary relative to the median of another."""
    return one.scaled(1 / other.median) if one and other and other.median > 0 else None


def best_data_dirs(samples: Samples, load: str, place: str) -> tuple[str | None, str]:
    """E5: the best data directory and how it compares; None where the two best are too near to tell."""
    groups = grouped(pick(samples, what="mean_tps", load=load, place=place), "data_dir")
    if len(groups) < 2:
        return None, f"{load} {place} memory: fewer than two data directories"
    (first, one), (second, two) = sorted(groups.items(), key=lambda item: -item[1].median)[:2]
    text = f"{load} {place} memory: {first} {number(one.median)}, {second} {number(two.median)} tps"
    if min(one.trials, two.trials) < 2:
        return None, f"{text}, but one run shows no spread"
    clear = one.median >= 1.1 * two.median and one.low > two.high
    return (first if clear else None), text


def judge_e5(samples: Samples) -> list[Verdict]:
    verdicts = []
    for load in distinct(pick(samples, what="mean_tps"), "load") or ["read", "tpcb"]:
        (inside, one), (outside, other) = (best_data_dirs(samples, load, place) for place in ("inside", "outside"))
        outcome = UNKNOWN if inside is None or outside is None else HOLDS if inside != outside else FAILS
        verdicts.append(
            Verdict(
                f"Which storage is best for {load} depends on whether the data fits memory.",
                outcome,
                "another data directory is best inside than outside memory, each by 10 % and with trials that do not "
                "overlap; needs two data directories, and two runs of each",
                f"{one}; {other}",
            )
        )
    return verdicts


JUDGES: dict[str, Callable[[Samples], list[Verdict]]] = {
    "A1": judge_a1,
    "A2": judge_a2,
    "A3": judge_a3,
    "A4": judge_a4,
    "A5": judge_a5,
    "A6": judge_a6,
    "A7": judge_a7,
    "A8": judge_a8,
    "B": judge_b,
    "C": judge_c,
    "D": judge_d,
    "E2": judge_e2,
    "E3": judge_e3,
    "E4": judge_e4,
    "E5": judge_e5,
}


def judge(scenario: str, samples: Samples, cpus: int | None = None) -> list[Verdict]:
    """The verdicts of one scenario; E1 needs to know how many CPUs there are to be busy."""
    if scenario == "E1":
        return judge_e1(samples, cpus)
    return JUDGES[scenario](samples)
