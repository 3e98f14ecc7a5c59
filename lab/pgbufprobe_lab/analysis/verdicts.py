"""From samples to verdicts. Each verdict states its rule; what the trials cannot settle is unknown."""

from __future__ import annotations

from collections.abc import Callable

from pgbufprobe_lab.analysis import verdicts_a, verdicts_b_to_d, verdicts_e, verdicts_f
from pgbufprobe_lab.analysis.medians import Samples
from pgbufprobe_lab.analysis.rules import Verdict

JUDGES: dict[str, Callable[[Samples], list[Verdict]]] = {
    "A1": verdicts_a.judge_a1,
    "A2": verdicts_a.judge_a2,
    "A3": verdicts_a.judge_a3,
    "A4": verdicts_a.judge_a4,
    "A5": verdicts_a.judge_a5,
    "A6": verdicts_a.judge_a6,
    "A7": verdicts_a.judge_a7,
    "A8": verdicts_a.judge_a8,
    "B": verdicts_b_to_d.judge_b,
    "C": verdicts_b_to_d.judge_c,
    "D": verdicts_b_to_d.judge_d,
    "E2": verdicts_e.judge_e2,
    "E3": verdicts_e.judge_e3,
    "E4": verdicts_e.judge_e4,
    "E5": verdicts_e.judge_e5,
    "F": verdicts_f.judge_f,
}


def judge(scenario: str, samples: Samples, cpus: int | None = None) -> list[Verdict]:
    """Returns the verdicts of one scenario. Only E1 needs the number of CPUs."""
    if scenario == "E1":
        return verdicts_e.judge_e1(samples, cpus)
    return JUDGES[scenario](samples)
