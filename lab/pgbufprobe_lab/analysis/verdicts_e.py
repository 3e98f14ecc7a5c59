"""Verdicts on write-up E, the workloads."""

from __future__ import annotations

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.medians import (
    Samples,
    Summary,
    best_of,
    distinct,
    grouped,
    paired,
    pick,
    quotient,
    summarize,
    summary_of,
)
from pgbufprobe_lab.analysis.rules import (
    FAILS,
    HOLDS,
    UNKNOWN,
    Judged,
    Verdict,
    above,
    alike,
    at_least,
    at_most,
    within,
)
from pgbufprobe_page.formatting import number

BUSY = 1.4  # clients per CPU: published throughput was constant from 100 clients on 72 cores


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
            "Read throughput grows with the number of clients.",
            "the best number of clients reaches 1.25 times the throughput of one",
            *grows,
        ),
        Verdict(
            "When all CPUs are busy, throughput stays constant.",
            "with 1.4 clients per CPU and more, as published, the medians are within 25 % of each other; a larger "
            "difference counts only if the trials do not overlap",
            *flat,
        ),
        Verdict(
            "9.5 is faster than 9.4 from 64 clients on.",
            "needs both versions, and CPUs for 64 clients",
            UNKNOWN,
            "neither version is supported any more, and all supported versions have the change to the lock code",
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
    gain = at_least(summary_of(ratios), 1.05, "prepared / simple:", "x")
    return [
        Verdict(
            "Ten updates in one transaction reach about twice the throughput.",
            "write10 reaches at least 1.5 times the updates of write1 with every number of clients",
            *twice,
        ),
        Verdict(
            "Prepared statements help.",
            "-M prepared is at least 1.05 times as fast, for each script that was run both ways",
            *gain,
        ),
    ]


def judge_e3(samples: Samples) -> list[Verdict]:
    by_jobs = derive.vacuum_by_jobs(samples)
    best = best_of(by_jobs, lowest=True)
    more = above(by_jobs.get(1), by_jobs.get(best), 1.25, ("1 job", f"{number(best)} jobs"), "s")
    most = max(by_jobs, default=None)
    if most and most > 1 and 1 in by_jobs:
        speedup = by_jobs[1].median / by_jobs[most].median
        less = (HOLDS if speedup < 0.9 * most else FAILS, f"{number(speedup)} times as fast with {number(most)} jobs")
    else:
        less = (UNKNOWN, "not measured with one job and with more")
    late = pick(samples, what="seconds", checkpoint_completion_target=(0.9, "0.9"))
    jobs = max(distinct(late, "x"), default=None)
    spread = above(summarize(pick(late, x=jobs)), by_jobs.get(jobs), 1.25, ("target 0.9", "target 0.5"), "s")
    return [
        Verdict("More jobs shorten the run.", "the best number of jobs is 1.25 times as fast as one", *more),
        Verdict(
            "The gain is less than proportional to the number of jobs.",
            "with the most jobs, the speed-up of the medians is below 0.9 times their number",
            *less,
        ),
        Verdict(
            "With checkpoint_completion_target 0.9 instead of 0.5, vacuumdb is slower.",
            "it takes at least 1.25 times as long, with the same number of jobs (published: 245 and 500 s)",
            *spread,
        ),
    ]


def judge_e4(samples: Samples) -> list[Verdict]:
    build = at_most(summary_of(derive.brin_build_shares(samples)), 0.25, "BRIN / B-tree, median over all:", "share")

    def reads(index: str, order: str) -> Summary | None:
        return summarize(pick(samples, what="range_ms", order=order, index=index))

    near = at_most(
        paired_ratio(derive.best_brin(samples, "range_ms", "sorted"), reads("btree", "sorted")),
        3,
        "BRIN / B-tree:",
        "x",
    )
    ratio = paired_ratio(derive.best_brin(samples, "range_ms", "random"), reads("none", "random"))
    scan = within(ratio, 0.5, 2.0, "BRIN / no index:", "x")
    return [
        Verdict(
            "A BRIN index is built in a fraction of the B-tree's time.",
            "every BRIN index takes at most a quarter of the B-tree's time (published: 9 to 15 %)",
            *build,
        ),
        Verdict(
            "On sorted data BRIN reads are near the B-tree's.",
            "1 % of the keys, best pages_per_range: at most 3 times the B-tree's time",
            *near,
        ),
        Verdict(
            "On random data BRIN is like a sequential scan.",
            "1 % of the keys, best pages_per_range: 0.5 to 2 times the time without an index",
            *scan,
        ),
    ]


def paired_ratio(one: Summary | None, other: Summary | None) -> Summary | None:
    """Returns one summary relative to the median of another."""
    return one.scaled(1 / other.median) if one and other and other.median > 0 else None


def best_data_dirs(samples: Samples, load: str, place: str) -> tuple[str | None, str]:
    """E5: returns the best data directory, or None if the two best do not differ clearly, and their figures."""
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
                f"The best storage for {load} depends on whether the data fits memory.",
                "one data directory is best inside memory and another one outside, each by 10 % and with trials that "
                "do not overlap; needs two data directories, and two runs of each",
                outcome,
                f"{one}; {other}",
            )
        )
    return verdicts
