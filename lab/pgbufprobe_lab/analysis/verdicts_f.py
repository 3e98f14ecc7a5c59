"""Verdicts on F, other sweeps."""

from __future__ import annotations

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.medians import Samples, distinct, pick, summarize
from pgbufprobe_lab.analysis.rules import Judged, Verdict, above, all_of, within
from pgbufprobe_lab.samples import ONE_HAND, SWEEPS

TOLERANCE = 0.5  # % of the accesses


def _alike(samples: Samples, load: str, policy: str) -> Judged:
    change = derive.change_of_misses(samples, load, policy)
    name = f"{load}, {SWEEPS[policy]}:"
    return within(change and change.scaled(100), -TOLERANCE, TOLERANCE, name, "%")


def _faster(samples: Samples, policy: str) -> Judged:
    times = pick(samples, what="search_ns")
    most = max(distinct(times, "x"), default=None)
    one, other = (summarize(pick(times, policy=name, x=most)) for name in (ONE_HAND, policy))
    return above(one, other, 1.1, (SWEEPS[ONE_HAND], SWEEPS[policy]), "ns")


def judge_f(samples: Samples) -> list[Verdict]:
    others = [policy for policy in SWEEPS if policy != ONE_HAND]
    return [
        Verdict(
            "Several hands, or batches, miss as often as one hand.",
            "for each load, the 95 % interval of the change of misses is within 0.5 % of the accesses",
            *all_of([_alike(samples, load, policy) for load in distinct(samples, "load") for policy in others]),
        ),
        Verdict(
            "Batches make a search faster.",
            "with the most threads, a search by one hand takes at least 1.1 times as long",
            *_faster(samples, "clock 5, batches of 64"),
        ),
        Verdict(
            "Several hands make a search faster.",
            "with the most threads, a search by one hand takes at least 1.1 times as long as one by four",
            *_faster(samples, "clock 5, 4 hands"),
        ),
    ]
