"""The page says what the facts say, shows what is unknown as unknown, and never takes a name for markup."""

import json
import re
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser

import pytest
from artificial import (
    EVIL,
    NAMES,
    WIDE,
    caches,
    fact,
    gains,
    hours,
    made,
    memory,
    predictions,
    report,
    sizes,
    unknown_report,
    verdict,
)

from pgbufprobe_page.svg import steps
from pgbufprobe_report import caches as caches_part
from pgbufprobe_report import compare, decision, details, page
from pgbufprobe_report import hours as hours_part
from pgbufprobe_report import memory as memory_part
from pgbufprobe_report import verdict as first_lines
from pgbufprobe_report.facts import Cell
from pgbufprobe_report.redact import redact
from pgbufprobe_report.view import figure, interval, milliseconds, sized

MB = 1024**2


class Page(HTMLParser):
    """Elements of a page with their attributes, and its text outside scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self._script = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._script = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._script = False

    def handle_data(self, data):
        if not self._script:
            self.text += data

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


@cache
def pages():
    half = [row | {"both_bytes": row["both_bytes"] // 2} for row in caches()]
    smaller = report(caches=fact(half)) | {"server": report()["server"] | {"shared_buffers_bytes": 96 * MB}}
    return {
        "page": page.render(made()),
        "unknown": page.render(made(unknown_report())),
        "comparison": compare.render(made(), made(smaller)),
    }


@pytest.mark.parametrize("name, text", pages().items())
def test_names_are_text(name, text):
    parsed = Page(text)
    assert EVIL in parsed.text
    assert WIDE in parsed.text
    assert parsed.all("img") == parsed.all("script") == []
    assert "script-src 'none'" in next(attrs["content"] for attrs in parsed.all("meta") if "http-equiv" in attrs)
    for tag, attrs in parsed.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert not {"src", "srcset", "onerror"} & attrs.keys()
        assert attrs.get("href", "#").startswith("#")


def test_a_page_is_small():
    assert {name: len(text.encode()) for name, text in pages().items() if len(text.encode()) > 80_000} == {}


def test_every_part_has_a_place_and_a_line_in_the_contents():
    parsed = Page(pages()["page"])
    keys = ["sizes", "hours", "memory", "checkup"]
    folded = ["predictions", "gains", "caches", "pool", "usage", "clock", "costs", "method"]
    assert [attrs["id"] for attrs in parsed.all("section")] == keys
    assert [attrs["href"] for attrs in parsed.all("a")] == [f"#{key}" for key in (*keys, *folded)]
    ids = [attrs["id"] for _, attrs in parsed.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert set(keys + folded) <= set(ids)


def test_waiting_comes_first_and_the_rest_is_small():
    waiting, *others = decision.charts(made())
    assert (waiting.title, waiting.wide) == ("Waiting for reads, by shared_buffers", True)
    assert [(chart.title.split(":")[0], chart.wide) for chart in others] == [("Storage reads", False), ("Reads", False)]
    broad, narrow = waiting.drawn
    for drawn in (broad, narrow):
        assert "today: 192 MB" in drawn
        assert "advised: 96 MB" in drawn
    assert "<title>96 MB: 262 ms (236 to 288)</title>" in broad
    untimed = [row | dict.fromkeys(("read_ms_per_second", "read_ms_low", "read_ms_high")) for row in sizes()]
    charts = decision.charts(made(report(sizes=fact(untimed))))
    assert [(chart.title.split(":")[0], chart.wide) for chart in charts] == [("Storage reads", True), ("Reads", False)]
    assert decision.charts(made(unknown_report())) == ()


def test_the_curve_has_the_sizes_that_fit():
    rows = made().facts.sizes.found
    for kind in decision.KINDS:
        found = decision.points(rows, kind)
        assert [point.x / (192 * MB) for point in found] == [0.25, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5]
        assert all(point.low < point.y < point.high for point in found)
    part = decision.part(made())
    (shown,) = part.details
    assert len(shown.rows) == 8
    assert shown.rows[1] == (
        "96 MB, advised",
        "262 ms (236 to 288)",
        "13.1 % (12.2 to 14)",
        "21.2 % (20.8 to 21.8)",
        "273 MB",
    )
    assert part.after == ("Larger sizes do not fit: cgroup.",)


def test_what_may_as_well_be_nothing_is_unknown():
    assert milliseconds(0, 0, 4902) == milliseconds(3.0, -1.0, 7.1) == interval(0.01, 0.0, 0.03) == "unknown"
    assert sized(448 * 1024, 0, 1000 * 1024) == "unknown"
    assert sized(448 * 1024, 300 * 1024, 596 * 1024) == "448 kB (300 kB to 596 kB)"
    assert milliseconds(34.44, 30.04, 38.84) == "34.4 ms (30 to 38.8)"
    assert milliseconds(0.0, 0.0, 0.0) == "0 ms"
    assert [figure(value) for value in (0.0378, 0.5, 9.96, 12.34, 123.4, 1234.5, -1.25)] == [
        "0.038",
        "0.5",
        "10",
        "12.3",
        "123",
        "1,234",
        "-1.2",
    ]


def test_all_answers_with_their_verdicts():
    parsed = Page(pages()["page"])
    answers = details.answers(made().facts).answers
    badges = ["fails", "holds", "holds", "holds", "consider", "unknown", "consider", "holds", "consider"]
    assert [answer.badge[0] for answer in answers] == badges
    for answer in answers:
        for text in (answer.topic, answer.answer, answer.action, answer.detail):
            assert text is None or text in parsed.text


def test_unknown_values_are_shown_with_their_reason():
    text = Page(pages()["unknown"]).text
    assert "unknown: nothing watches this server, because no sampler is running" in text
    assert "All sizes: nothing watches this server, because no sampler is running; SELECT pgbufprobe_start() " in text
    assert "the map shows shared_buffers alone" in text
    assert not re.search(r"\b(None|nan|NaN|null)\b", text)
    (table,) = caches_part.both(made(unknown_report()).facts).tables
    assert table.columns == ("Relation", "shared_buffers", "Size")  # the rest is unknown


def test_what_is_wasted_comes_first_in_bytes_and_percent():
    facts = made().facts
    (table,) = caches_part.both(facts).tables
    assert [row[0] for row in table.rows] == list(reversed(NAMES))
    assert table.rows[0][1:3] == ("54 MB", "88.5 %")  # of 60 + 55 - 54 MB
    assert [m.title.split(", ")[0] for m in caches_part.maps(facts)] == list(reversed(NAMES))
    (idle,) = caches_part.pool(facts).tables
    assert idle.rows[0][1:3] == ("21 MB", "52.5 %")
    (wasted,) = details.gains(made()).tables
    assert wasted.rows[0][0] == "all others"


def test_cells_of_a_map_are_shares_of_their_blocks():
    cell = Cell(blocks=200, shared_blocks=100, os_blocks=80, both_blocks=50)
    assert caches_part.layers([cell]) == {caches_part.OS: [65], caches_part.SHARED: [50], caches_part.BOTH: [25]}
    assert "M0,100V35H1V100Z" in steps(caches_part.layers([cell]), "a map")


def test_redacted_reports_have_no_names():
    hidden = redact(made())
    text = json.dumps(asdict(hidden), ensure_ascii=False) + page.render(hidden)
    for name in ("script>'", "quoted", "名", "orders", "shop", "other</"):
        assert name not in text, name
    assert "relation 16384" in text
    assert "database 6, file 777" in page.render(hidden)
    assert [row.both_bytes for row in hidden.facts.caches.found] == [row["both_bytes"] for row in caches()]
    assert "quoted" not in json.dumps(asdict(redact(made(unknown_report()))))


def decided(**replaced):
    return made(report(verdict=fact(list(verdict(**replaced))))).facts


def test_the_first_lines_are_those_of_the_verdict():
    parsed = Page(pages()["page"])
    assert first_lines.headline(decided()).answer == "Take 96 MB instead of 192 MB"
    assert first_lines.headline(decided()).badge[0] == "fails"
    assert first_lines.lines(decided()) == (
        (
            "Users would gain",
            "34.4 ms (30 to 38.8) less waiting for reads in each second, all sessions together: 5 % of their work",
        ),
        (
            "Seen",
            "23 h 30 min, from 2026-11-21 12:00 to 2026-11-22 12:00 UTC, "
            "without the hours of pgbufprobe.decision_skip_hours",
        ),
        ("What to do", "What to do about size."),
        (
            "What it costs",
            "a restart, after which both caches are cold unless pgbufprobe.carry_over is turned on first; "
            "no memory: the page cache gets 96 MB",
        ),
        ("Equally good", "96 MB to 120 MB"),
    )
    for name, value in first_lines.lines(decided()):
        assert parsed.text.index(name) < parsed.text.index("Other sizes")
        assert value in parsed.text


def test_what_a_change_costs():
    larger = list(verdict(advised_bytes=288 * MB))
    kept = [{"name": "pgbufprobe.carry_over", "setting": "on"}]
    facts = made(report(verdict=fact(larger), settings=fact(kept))).facts
    assert dict(first_lines.lines(facts))["What it costs"] == (
        "a restart, after which both caches are restored, and 96 MB of the page cache"
    )
    assert "What it costs" not in dict(first_lines.lines(decided(advised_bytes=192 * MB)))


def test_host_memory_version_and_start_are_beside_the_name():
    text = Page(pages()["page"]).text
    assert "db1.example, 400 MB of memory. PostgreSQL 15.18, running since 2026-11-22 09:00:00 UTC." in text


def test_keep_consider_and_unknown_have_other_first_lines():
    nothing = {"saved_ms_per_second": None, "saved_ms_low": None, "saved_ms_high": None}
    keep = decided(verdict="fine", advised_bytes=192 * MB, **nothing)
    assert first_lines.headline(keep).answer == "Keep 192 MB"
    assert (
        first_lines.lines(keep)[0][1]
        == "nothing that is certain and matters; sessions wait 296 ms for reads in each second"
    )
    assert decision.markers({"today": 192 * MB, "advised": 192 * MB}) == {"today, and advised: 192 MB": 192 * MB}
    assert decision.markers({"today": 192 * MB, "advised": None}) == {"today: 192 MB": 192 * MB}
    now = decided(verdict="consider", basis="storage reads", **nothing)
    assert first_lines.headline(now).badge[0] == "consider"
    assert dict(first_lines.lines(now))["Users would gain"] == "unknown in time; compared by storage reads"
    assert dict(first_lines.lines(now))["Seen"].endswith("; the recent workload decides")
    unsure = decided(verdict="consider", saved_ms_per_second=3.0, saved_ms_low=0.0, saved_ms_high=4902.0)
    assert first_lines.lines(unsure)[0][1] == "less waiting, but how much is not certain yet"
    unknown = decided(verdict="unknown", basis=None, advised_bytes=None, seconds=0.0, **nothing)
    assert first_lines.headline(unknown).answer == unknown.answer("size").answer
    assert "Users would gain" not in dict(first_lines.lines(unknown))


def test_a_prediction_is_about_storage_reads_if_it_was_certain_of_them():
    (row, *_) = made().facts.predictions.found
    stored = replace(
        row, storage_ratio=0.1, storage_ratio_low=0.09, storage_ratio_high=0.11, measured_storage_ratio=0.104
    )
    assert details.outcome(stored) == "Held: 10 % predicted, 10.4 % measured"
    assert details.outcome(replace(stored, storage_ratio_high=0.9)) == details.outcome(row)
    assert details.outcome(row) == "Held: 21.2 % predicted, 21.5 % measured"
    assert details.outcome(replace(row, held=None, measured_miss_ratio=None)) == "Not measured yet"


def test_the_last_prediction_is_among_the_first_lines():
    assert "Last prediction" not in dict(first_lines.lines(made().facts))
    came = [row | {"from_bytes": 96 * MB, "to_bytes": 192 * MB} for row in predictions()]
    lines = dict(first_lines.lines(made(report(predictions=fact(came))).facts))
    assert lines["Last prediction"] == "Held: 21.2 % predicted, 21.5 % measured, from 96 MB to 192 MB"


def moment(day, hour):
    return datetime(2026, 11, day, hour, tzinfo=UTC).timestamp()


def test_hours_have_their_waiting_and_their_best_size():
    (part,) = hours_part.part(made())
    groups = hours_part.groups(made().facts.hours.found)  # one hour has no times
    assert {name: len(bars) for name, bars in groups.items()} == {
        hours_part.SAME: 26,
        hours_part.LARGER: 1,
        hours_part.SMALLER: 2,
    }
    assert groups[hours_part.SAME][:2] == [
        (moment(21, 6), moment(21, 7), 100),
        (moment(21, 8), moment(21, 9), 102),
    ]
    assert "Nov 22" in part.charts[0].drawn[0]
    assert part.details[0].rows == (
        ("192 MB", "25", "117 ms", "0 ms"),
        ("96 MB", "3", "104 ms", "8 ms"),
        ("unknown", "1", "unknown", "unknown"),
        ("384 MB", "1", "107 ms", "10 ms"),
    )
    assert hours_part.part(made(report(hours=fact(list(hours())[:1])))) == ()


def test_memory_has_its_best_splits_and_the_least_that_is_enough():
    (part,) = memory_part.part(made())
    (chart,) = part.charts
    found = memory_part.points(memory_part.best(made().facts.memory.found))
    # neither the unknown total nor today's split, which is not the best
    assert [round(point.y) for point in found] == [800, 400, 250, 222, 200, 100]
    assert found[0].text.startswith("123 MB, 96 MB of shared_buffers: 800 ms")
    for drawn in chart.drawn:
        assert "enough: 363 MB" in drawn
        assert "today: 400 MB" in drawn
    (shown,) = part.details
    assert len(shown.rows) == 7
    assert shown.rows[4][0] == "400 MB, today"
    assert shown.rows[4][3:] == ("192 MB", "177 MB")
    assert part.after == ("1.47 GB: 54 % of the reads have been seen that are needed.",)
    assert memory_part.part(made(report(memory=fact(list(memory())[-1:])))) == ()


def test_relations_of_which_nothing_is_known_are_left_out():
    lost = {name: None for row in list(gains())[:1] for name in row if name.startswith(("reads_", "storage_reads_"))}
    rows = [row | (lost if row["oid"] is None else {"note": None}) for row in gains()]
    part = details.gains(made(report(gains=fact(rows))))
    assert {row[0] for row in part.tables[0].rows} == set(NAMES)
    assert part.after == ()
    small = [row | dict.fromkeys(("read_ms_low", "storage_ratio_low", "miss_ratio_low"), -999) for row in sizes()]
    assert decision.part(made(report(sizes=fact(small)))).details == ()


def test_a_note_that_repeats_is_said_once():
    noted = [
        row | {"note": "the load has changed" + ("; no times" if row["size_factor"] < 1 else "")} for row in sizes()
    ]
    assert decision.part(made(report(sizes=fact(noted)))).after[:-1] == (
        "All sizes: the load has changed.",
        "48 MB, 96 MB, 120 MB, 144 MB, 168 MB: no times.",
    )
    alone = [row | {"note": "no times" + ("; all sizes: MGLRU" if row["size_factor"] == 1 else "")} for row in sizes()]
    assert decision.part(made(report(sizes=fact(alone)))).after[:-1] == ("All sizes: MGLRU.", "All sizes: no times.")
    told = made(report(gains=fact([row | {"note": "still learning"} for row in gains()])))
    assert details.gains(told).after == ("All relations: still learning.",)


def test_a_comparison_lists_no_equal_lines():
    same = Page(compare.render(made(), made()))
    assert EVIL not in same.text
    assert "The same both times: size; pool; page lifetime; " in same.text
    assert "The same both times: shared_buffers; Advised size; " in same.text
    blank = Page(compare.render(made(unknown_report()), made(unknown_report()))).text
    assert "Unknown both times: Advised size; " in blank
    assert "unknown reads" not in blank
    assert "unknown s" not in Page(pages()["unknown"]).text


def test_a_comparison_has_both_sizes_and_the_prediction():
    text = Page(pages()["comparison"]).text
    assert "From 192 MB to 96 MB" in text
    assert text.index("Held: 21.2 % predicted, 21.5 % measured") < text.index("From 192 MB to 96 MB: 296 ms of waiting")
    assert "21.2 % (20.7 to 21.8)" in text
    assert "different servers" not in text
    other = report() | {"server": report()["server"] | {"system_identifier": "1"}}
    assert "These are reports about different servers." in compare.render(made(), made(other))


def test_a_comparison_with_unknown_figures():
    text = Page(compare.render(made(unknown_report()), made())).text
    assert "The curve was unknown in at least one of the reports." in text
    assert "At 192 MB both times: 296 ms of waiting in each second; before, that was unknown" in text
    assert not re.search(r"\b(None|nan|NaN|null)\b", text)
