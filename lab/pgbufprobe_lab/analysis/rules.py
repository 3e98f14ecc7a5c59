"""The rules that decide verdicts.

Each rule compares medians over trials. A difference counts only if the ranges of the trials confirm it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgbufprobe_lab.analysis.medians import Summary
from pgbufprobe_lab.sizes import GB
from pgbufprobe_page.formatting import number, with_unit, words

HOLDS = "holds"
FAILS = "does not hold"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """One finding of a write-up, and whether it holds on this machine."""

    finding: str
    rule: str
    outcome: str
    why: str


Judged = tuple[str, str]  # outcome, why


def _medians(groups: Mapping[str, Summary], unit: str) -> str:
    return (words([f"{name} {number(group.median)}" for name, group in groups.items()]) + f" {unit}").rstrip()


def alike(groups: Mapping[str, Summary], unit: str, tolerance: float = 0.25) -> Judged:
    """Holds if the medians are within the tolerance of each other. Fails only if the trials do not overlap either."""
    if len(groups) < 2:
        return UNKNOWN, "fewer than two sizes were measured"
    ordered = sorted(groups.values(), key=lambda group: group.median)
    least, most = ordered[0], ordered[-1]
    if least.median <= 0:
        return UNKNOWN, "a median is zero"
    apart = most.median / least.median - 1
    text = f"medians: {_medians(groups, unit)}; {100 * apart:.0f} % apart"
    if apart <= tolerance:
        return HOLDS, text
    if min(least.trials, most.trials) < 2:
        return UNKNOWN, f"{text}, but one trial shows no spread"
    if most.low <= least.high:
        return UNKNOWN, f"{text}, but the trials overlap"
    return FAILS, f"{text}, and the trials do not overlap"


def proportional(groups: Mapping[str, Summary], sizes: Mapping[str, float], unit: str, within: float = 1.5) -> Judged:
    """Holds if the costs per GB are within a factor of each other."""
    groups = {name: group for name, group in groups.items() if sizes.get(name)}
    per_gb = {name: group.scaled(GB / sizes[name]) for name, group in groups.items()}
    outcome, why = alike(per_gb, f"{unit}/GB", within - 1)
    return outcome, f"per GB of pool, {why}" if len(per_gb) > 1 else why


def above(high: Summary | None, low: Summary | None, factor: float, names: tuple[str, str], unit: str) -> Judged:
    """Holds if the first is at least `factor` times the second. Unknown if the trials overlap."""
    if high is None or low is None:
        missing = names[0] if high is None else names[1]
        return UNKNOWN, f"not measured: {missing}"
    text = f"{names[0]} {number(high.median)}, {names[1]} {number(low.median)} {unit}".rstrip()
    reached = high.median >= factor * low.median and high.median > low.median
    if reached:
        if high.low < low.high:
            return UNKNOWN, f"{text}, but the trials overlap"
        return HOLDS, text
    if high.high >= factor * low.low and high.high > low.low and max(high.trials, low.trials) > 1:
        return UNKNOWN, f"{text}, but the trials are on both sides of the limit"
    return FAILS, text


def within(value: Summary | None, least: float, most: float, name: str, unit: str) -> Judged:
    """Holds if all trials are within the limits, fails if all are beyond one of them."""
    if value is None:
        return UNKNOWN, f"not measured: {name}"
    text = f"{name} {with_unit(value.median, unit)}"
    if least <= value.low and value.high <= most:
        return HOLDS, text
    if value.high < least or value.low > most:
        return FAILS, text
    return UNKNOWN, f"{text}, but the trials are on both sides of the limit"


def at_most(value: Summary | None, limit: float, name: str, unit: str) -> Judged:
    return within(value, -math.inf, limit, name, unit)


def at_least(value: Summary | None, limit: float, name: str, unit: str) -> Judged:
    return within(value, limit, math.inf, name, unit)


def all_of(judged: Sequence[Judged]) -> Judged:
    """Holds if each holds, and fails if any fails."""
    why = "; ".join(text for _, text in judged)
    outcomes = [outcome for outcome, _ in judged]
    if FAILS in outcomes:
        return FAILS, why
    if UNKNOWN in outcomes or not outcomes:
        return UNKNOWN, why or "nothing was measured"
    return HOLDS, why
