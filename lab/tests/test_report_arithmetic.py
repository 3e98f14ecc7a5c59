"""Medians, derived figures and the format of numbers."""

import pytest
from artificial import a2, a7, sample

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.compare import ratio
from pgbufprobe_lab.analysis.medians import Summary, difference, grouped, paired, pick, summarize
from pgbufprobe_lab.report.tables import tables
from pgbufprobe_page.formatting import duration, number, percent, size, with_unit, words


def values(*pairs):
    return [{"trial": trial, "value": value} for trial, value in pairs]


def test_each_trial_has_one_vote():
    long_trial = [(1, 100.0)] * 50
    assert summarize(values(*long_trial, (2, 1.0), (3, 2.0))) == Summary(2.0, 1.0, 100.0, 3)


def test_one_outlier_in_a_trial_moves_nothing():
    assert summarize(values((1, 1.0), (1, 1.0), (1, 900.0))) == Summary(1.0, 1.0, 1.0, 1)


def test_nothing_has_no_summary():
    assert summarize([]) is None


def test_pairs_are_made_within_a_trial_only():
    found = paired(values((1, 10.0), (2, 20.0), (3, 1000.0)), values((1, 4.0), (2, 5.0)), difference)
    assert found == Summary(10.5, 6.0, 15.0, 2)


def test_pick_takes_one_or_several_values():
    samples = [{"what": "a", "x": x} for x in (1, 2, 3)]
    assert [s["x"] for s in pick(samples, what="a", x=(1, 3))] == [1, 3]
    assert pick(samples, what="b") == []


def test_groups_are_in_order_of_the_numbers():
    samples = [{"trial": 1, "value": x, "x": x} for x in (16, 2, 4)]
    assert list(grouped(samples, "x")) == [2, 4, 16]


@pytest.mark.parametrize(
    "here, published, expected", [(2.0, 4.0, 0.5), (None, 4.0, None), (2.0, 0.0, None), (2.0, None, None)]
)
def test_ratio(here, published, expected):
    assert ratio(here, published) == expected


@pytest.mark.parametrize(
    "curve, expected",
    [
        ({10: 0.0, 20: 0.1}, 15.0),
        ({10: 0.2, 20: 0.3}, 10),
        ({10: 0.0, 20: 0.01}, None),
        ({30: 1.0, 10: 0.0, 20: 0.0}, 20.5),
    ],
)
def test_where_a_curve_begins(curve, expected):
    assert derive.crossing(curve) == expected


def test_storage_begins_a_trial_at_a_time():
    found = derive.first_storage_reads(list(a7()))
    assert found["middle"].median == pytest.approx(55)
    assert found["middle"].low < 55 < found["middle"].high


def test_a_curve_that_never_begins_counts_as_the_widest_range():
    samples = [sample("A7", "storage_share", 0.0, "large", 1, x) for x in (50, 100)]
    assert derive.first_storage_reads(samples)["large"].median == 100


def test_predictions_stand_beside_what_the_other_pools_needed():
    (made,) = (table for table in tables("A7", list(a7())) if "predicted" in table.caption)
    assert made.rows == (
        ("middle pool, 100 % of the table", "45.9 %", "50 % (49 % to 51 %)"),
        ("large pool, 100 % of the table", "23.4 %", "25 % (24 % to 26 %)"),
    )
    without = [sample for sample in a7() if sample["what"] != "predicted_storage_share"]
    assert not [table for table in tables("A7", without) if "predicted" in table.caption]


def test_passes_shift_a_histogram():
    assert derive.shifted({None: 2.0, 0: 3.0, 1: 5.0, 5: 90.0}, 1) == {None: 2.0, 0: 8.0, 4: 90.0}
    assert derive.shifted({None: 2.0, 0: 3.0, 1: 5.0, 5: 90.0}, 9) == {None: 2.0, 0: 98.0}


@pytest.mark.parametrize("passes, found", [(1.0, 1.0), (0.96, 1.0), (1.4, None), (0.03, None)])
def test_only_whole_passes_predict_usage_counts(passes, found):
    samples = [
        sample("A2", "histogram", value, "small", 1, count, event=1, kind="read", read=1, moment=moment, passes=passes)
        for moment, place in (("before", 4), ("after", 3))
        for count in (3, 4)
        for value in [100 if count == place else 0]
    ]
    moved = derive.moved_left(samples)
    assert (moved and moved.median) == found


def test_the_published_histograms_agree_with_one_pass():
    before = {None: 0, 0: 0, 1: 105, 2: 4, 3: 0, 4: 1, 5: 524177}
    after = {None: 0, 0: 108, 1: 2, 2: 1, 3: 37, 4: 524071, 5: 69}
    assert derive.agreement(derive.shifted(before, 1), after) > 0.999
    assert derive.agreement(derive.shifted(before, 2), after) < 0.01


def test_a_histogram_without_its_other_half_is_no_event():
    samples = [s for s in a2() if s.get("moment") != "after"]
    assert derive.histogram_events(samples) == []


@pytest.mark.parametrize(
    "value, text",
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (3.8, "3.8"),
        (0.0341, "0.0341"),
        (12345.6, "12,346"),
        (None, "–"),
        (-2.5, "-2.5"),
        (100.4, "100"),
        (20.0, "20"),
    ],
)
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (0.511, "share", "51.1 %"),
        (0.00001, "share", "< 0.1 %"),
        (0.0, "share", "0 %"),
        (2.34, "x", "2.34 ×"),
        (3 * 1024**2, "bytes", "3 MB"),
        (0.1234, "ms", "0.123 ms"),
        (3, "", "3"),
    ],
)
def test_with_unit(value, unit, text):
    assert with_unit(value, unit) == text


def test_small_helpers():
    assert size(1536) == "1.5 kB"
    assert size(512) == "512 B"
    assert duration(42) == "42 s"
    assert duration(3600) == "60 min"
    assert duration(7260) == "2 h 01 min"
    assert words(["a"]) == "a"
    assert words(["a", "b", "c"]) == "a, b and c"
    assert percent(1.0) == "100 %"
