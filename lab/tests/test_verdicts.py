"""Every verdict has three outcomes, and noise alone does not decide it."""

import pytest
from artificial import GB, MAKERS, MB, a1, a7, c, e1, sample

from pgbufprobe_lab.analysis import rules
from pgbufprobe_lab.analysis.conclusion import choose, conclude
from pgbufprobe_lab.analysis.medians import Summary
from pgbufprobe_lab.analysis.rules import FAILS, HOLDS, UNKNOWN
from pgbufprobe_lab.analysis.verdicts import judge
from pgbufprobe_lab.samples import NAMES

NEVER_JUDGED = "9.5 is faster than 9.4 from 64 clients on."  # needs versions that are no longer supported
LINEAR_JOBS = "The gain is less than proportional to the number of jobs."  # holds even if more jobs do not help


def verdicts(name, samples):
    return {v.finding: v for v in judge(name, list(samples), 2) if v.finding != NEVER_JUDGED}


def group(*trials):
    ordered = sorted(trials)
    return Summary(ordered[len(ordered) // 2], ordered[0], ordered[-1], len(ordered))


@pytest.mark.parametrize("name", NAMES)
def test_holds_where_the_samples_agree(name):
    assert {f: v.outcome for f, v in verdicts(name, MAKERS[name](True)).items() if v.outcome != HOLDS} == {}


@pytest.mark.parametrize("name", NAMES)
def test_does_not_hold_where_they_disagree(name):
    found = verdicts(name, MAKERS[name](False))
    found.pop(LINEAR_JOBS, None)
    assert {f: v.outcome for f, v in found.items() if v.outcome != FAILS} == {}


@pytest.mark.parametrize("name", NAMES)
def test_is_unknown_without_samples(name):
    found = verdicts(name, [])
    assert found
    assert {f: v.outcome for f, v in found.items() if v.outcome != UNKNOWN} == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_verdict_states_its_rule_and_its_reason(name):
    for samples in (MAKERS[name](True), MAKERS[name](False), ()):
        for verdict in judge(name, list(samples), 2):
            assert verdict.rule
            assert verdict.why
            assert not verdict.why.endswith(".")


def test_vacuum_in_proportion_to_the_jobs():
    samples = [
        sample("E3", "seconds", 80 / jobs, None, trial, jobs, checkpoint_completion_target=0.5)
        for jobs in (1, 2, 4)
        for trial in (1, 2)
    ]
    assert verdicts("E3", samples)[LINEAR_JOBS].outcome == FAILS


def test_the_old_versions_are_never_judged():
    assert [v.outcome for v in judge("E1", list(e1()), 2) if v.finding == NEVER_JUDGED] == [UNKNOWN]


def test_constant_throughput_needs_more_clients_than_cpus():
    flat = judge("E1", list(e1()), 64)[1]
    assert flat.outcome == UNKNOWN
    assert "64 CPUs" in flat.why


def test_a_curve_that_still_grows_is_not_constant():
    points = [(clients, trial) for clients in (1, 2, 4, 8) for trial in (1, 2)]
    samples = [sample("E1", "tps", 100.0 * clients, None, trial, clients) for clients, trial in points]
    assert judge("E1", samples, 2)[1].outcome == FAILS


def test_one_run_a_folder_is_no_comparison():
    samples = [s for s in MAKERS["E5"](True) if s["trial"] == 1]
    assert {v.outcome for v in judge("E5", samples)} == {UNKNOWN}


def test_indexes_that_fit_the_small_pool_prove_nothing():
    samples = [s | {"value": MB} if s["what"] == "index_bytes" else s for s in c()]
    reads, faster, linear = judge("C", samples)
    assert (reads.outcome, faster.outcome, linear.outcome) == (UNKNOWN, UNKNOWN, HOLDS)
    assert "fit the small pool" in reads.why


@pytest.mark.parametrize(
    "small, large, outcome",
    [
        (group(1.0, 1.1, 1.2), group(1.1, 1.2, 1.3), HOLDS),
        (group(1.0, 1.1, 1.2), group(2.0, 2.1, 2.2), FAILS),
        (group(1.0, 1.1, 3.0), group(2.0, 2.1, 2.2), UNKNOWN),
        (group(1.0), group(2.0), UNKNOWN),
        (group(0.0, 0.0), group(2.0, 2.0), UNKNOWN),
    ],
)
def test_alike(small, large, outcome):
    assert rules.alike({"small": small, "large": large}, "ms")[0] == outcome


def test_proportional_compares_the_cost_of_a_gigabyte():
    sizes = {"small": GB, "large": 3 * GB}
    assert rules.proportional({"small": group(2.0, 2.1), "large": group(6.0, 6.1)}, sizes, "ms")[0] == HOLDS
    assert rules.proportional({"small": group(2.0, 2.1), "large": group(2.0, 2.1)}, sizes, "ms")[0] == FAILS
    assert rules.proportional({"small": group(2.0, 2.1)}, sizes, "ms")[0] == UNKNOWN


@pytest.mark.parametrize(
    "high, low, outcome",
    [
        (group(20, 21, 22), group(10, 10, 10), HOLDS),
        (group(12, 12, 12), group(10, 10, 10), FAILS),
        (group(9, 20, 22), group(10, 10, 10), UNKNOWN),
        (group(12, 12, 30), group(10, 10, 10), UNKNOWN),
        (group(10), group(10), FAILS),
        (None, group(10), UNKNOWN),
    ],
)
def test_above(high, low, outcome):
    assert rules.above(high, low, 1.5, ("one", "other"), "ms")[0] == outcome


def test_equal_values_are_not_above_each_other():
    assert rules.above(group(10, 10), group(10, 10), 1.0, ("one", "other"), "ms")[0] == FAILS


@pytest.mark.parametrize("trials, outcome", [((1, 2), HOLDS), ((6, 7), FAILS), ((4, 6), UNKNOWN)])
def test_limits(trials, outcome):
    mirrored = {HOLDS: FAILS, FAILS: HOLDS, UNKNOWN: UNKNOWN}[outcome]
    assert rules.at_most(group(*trials), 5, "it", "ms")[0] == outcome
    assert rules.at_least(group(*trials), 5, "it", "ms")[0] == mirrored


def test_one_that_does_not_hold_decides():
    assert rules.all_of([(HOLDS, "a"), (UNKNOWN, "b"), (FAILS, "c")])[0] == FAILS
    assert rules.all_of([(HOLDS, "a"), (UNKNOWN, "b")])[0] == UNKNOWN
    assert rules.all_of([(HOLDS, "a")])[0] == HOLDS
    assert rules.all_of([])[0] == UNKNOWN


def test_noise_is_no_difference():
    noisy = [s | {"value": s["value"] * (3 if s["trial"] == 2 else 1)} for s in a1()]
    assert judge("A1", noisy)[0].outcome == HOLDS
    slow_large = [s | {"value": s["value"] * (2 if s["pool"] == "large" and s["trial"] > 1 else 1)} for s in a1()]
    assert judge("A1", slow_large)[0].outcome == UNKNOWN


def begins(small, middle, large, spread=0.5):
    return {
        pool: Summary(value, value - spread, value + spread, 3)
        for pool, value in (("small", small), ("middle", middle), ("large", large))
    }


@pytest.mark.parametrize(
    "ranges, choice",
    [
        (begins(65, 50, 75), "large"),
        (begins(65, 50, 67), "small"),
        (begins(50, 75, 65), "middle"),
        (begins(65, 50, 75, spread=20), "small"),
        ({}, None),
        ({"small": Summary(65, 65, 65, 1), "large": Summary(75, 75, 75, 1)}, None),
    ],
)
def test_the_choice_of_a_pool(ranges, choice):
    assert choose(ranges) == choice


def test_the_conclusion_says_what_decides():
    answer = conclude({"A7": list(a7()), "A2": list(MAKERS["A2"](True))})
    assert "large pool (75 % of the memory, 384 MB)" in answer.headline
    assert "small at 70 %, middle at 55 %, large at 80 %" in answer.reasons[0]
    assert "1.42 ms for one pass" in answer.reasons[1]


def test_no_conclusion_without_a7():
    answer = conclude({"A2": list(MAKERS["A2"](True))})
    assert "No size can be recommended" in answer.headline
    assert "was not measured for: small, middle, large" in answer.reasons[0]


def test_no_conclusion_where_no_pool_needed_the_disk():
    samples = [
        sample("A7", "storage_share", 0.0, pool, trial, x)
        for pool in ("small", "middle", "large")
        for trial in (1, 2)
        for x in (50, 100)
    ]
    assert "no pool needed reads from storage" in conclude({"A7": samples}).headline
