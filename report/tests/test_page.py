"""The page says what the facts say, shows what is unknown as unknown, and never takes a name for markup."""

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser

import altair as alt
import jsonschema
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
    report,
    sizes,
    unknown_report,
    verdict,
)

from pgbufprobe_report import caches as caches_part
from pgbufprobe_report import compare, decision, details, page
from pgbufprobe_report import hours as hours_part
from pgbufprobe_report import memory as memory_part
from pgbufprobe_report import verdict as first_lines
from pgbufprobe_report.facts import Cell
from pgbufprobe_report.redact import redact

BUNDLE = "/* the chart library */"
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
        "page": page.render(made(), BUNDLE),
        "unknown": page.render(made(unknown_report()), BUNDLE),
        "comparison": compare.render(made(), made(smaller), BUNDLE),
    }


@pytest.mark.parametrize("name, text", pages().items())
def test_names_are_text(name, text):
    parsed = Page(text)
    assert EVIL in parsed.text
    assert WIDE in parsed.text
    assert parsed.all("img") == []
    assert len(parsed.all("script")) in (0, 3)
    for tag, attrs in parsed.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not {"src", "srcset", "onerror"} & attrs.keys()
        assert attrs.get("href", "#").startswith("#")


def test_every_part_has_a_section_and_every_chart_a_place():
    text = pages()["page"]
    parsed = Page(text)
    keys = [
        "hours",
        "decision",
        "memory",
        "checkup",
        "usage",
        "clock",
        "costs",
        "caches",
        "pool",
        "gains",
        "predictions",
        "method",
    ]
    assert [attrs["id"] for attrs in parsed.all("section")] == keys
    specs = json.loads(re.search(r'id="charts">(.*?)</script>', text, re.S)[1])
    places = [attrs["id"] for attrs in parsed.all("div") if attrs.get("class") == "chart"]
    assert list(specs) == places
    assert places == [
        f"chart-{name}" for name in ("hours", "curve", "memory", "splits", "usage-now", "usage-time", "clock", "caches")
    ]
    ids = [attrs["id"] for _, attrs in parsed.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_the_curve_has_bands_sizes_and_a_grey_area():
    (chart,) = decision.chart(made())
    marks = [layer["mark"]["type"] for layer in chart.spec["layer"]]
    assert marks == ["rect", "area", "line", "point", "rule", "text", "rule", "text"]
    text = json.dumps(chart.spec)
    assert '"today: 192 MB"' in text
    assert '"advised: 96 MB"' in text
    lines = {series: [] for series in (decision.READS, decision.WAITS, decision.MORE)}
    for values in (layer.get("data", chart.spec.get("data")) for layer in chart.spec["layer"][1:2]):
        for row in values["values"]:
            lines[row["series"]].append(row["x"] / (192 * MB))
    # Only the grey line has sizes that do not fit, and it begins where the others end.
    assert lines[decision.READS] == lines[decision.WAITS] == [0.25, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5]
    assert lines[decision.MORE] == [1.5, 2, 3, 4]
    assert 1.5 < decision.grey_from(made().facts.sizes.found) / (192 * MB) < 2


def test_a_size_that_does_not_fit_is_faded():
    (shown,) = decision.part(made()).tables
    assert shown.faded == {8, 9, 10}
    assert shown.rows[8][0] == "384 MB"
    assert shown.rows[8][2] == "no: cgroup"
    assert shown.rows[1] == (
        "96 MB, advised",
        "273 MB",
        "yes",
        "21.25 % (20.8 to 21.8)",
        "13.1 % (12.2 to 14)",
        "262 ms (236 to 288)",
    )


def test_without_reasons_against_it_a_size_is_not_grey():
    unsure = made(report(sizes=fact([row | {"fits": None} for row in sizes()])))
    assert decision.grey_from(unsure.facts.sizes.found) is None
    assert decision.part(unsure).tables[0].faded == frozenset()
    assert {row[2] for row in decision.part(unsure).tables[0].rows} == {"unknown"}


def test_all_answers_with_their_verdicts():
    parsed = Page(pages()["page"])
    (part,) = [p for p in details.parts(made()) if p.key == "checkup"]
    assert [answer.badge[0] for answer in part.answers] == [
        "fails",
        "holds",
        "holds",
        "holds",
        "consider",
        "unknown",
        "consider",
        "holds",
        "consider",
    ]
    for answer in part.answers:
        assert answer.question in parsed.text
        assert answer.answer in parsed.text


def test_unknown_values_are_shown_with_their_reason():
    text = Page(pages()["unknown"]).text
    assert "unknown: nothing watches this server, because no sampler is running" in text
    assert "All sizes: nothing watches this server, because no sampler is running; SELECT pgbufprobe_start() " in text
    assert "the map shows shared_buffers alone" in text
    assert not re.search(r"\b(None|nan|NaN|null)\b", text)
    rows = caches_part.both(made(unknown_report()).facts).tables[0].rows
    assert {cell for row in rows for cell in row[1:3]} == {"unknown"}


def test_what_is_wasted_comes_first_in_bytes_and_percent():
    facts = made().facts
    (table,) = caches_part.both(facts).tables
    assert [row[0] for row in table.rows] == list(reversed(NAMES))
    assert table.rows[0][1:3] == ("54 MB", "88.52 %")  # of 60 + 55 - 54 MB
    assert [m.title.split(", ")[0] for m in caches_part.maps(facts)] == list(reversed(NAMES))
    (idle,) = caches_part.pool(facts).tables
    assert idle.rows[0][1:3] == ("21 MB", "52.5 %")
    (wasted,) = details.gains(made()).tables
    assert wasted.rows[0][0] == "all others"


def test_cells_of_a_map_are_shares_of_their_blocks():
    assert (
        caches_part.css(Cell(blocks=200, shared_blocks=100, os_blocks=80, both_blocks=50)) == "--b:25%;--s:50%;--o:65%"
    )


def test_a_map_that_is_unknown_says_why():
    failed = [each for each in caches_part.maps(made().facts) if not each.cells]
    assert len(failed) == 1
    assert failed[0].unknown.startswith("The map is unknown: could not open file")


def test_redacted_reports_have_no_names():
    hidden = redact(made())
    text = json.dumps(asdict(hidden), ensure_ascii=False) + page.render(hidden, BUNDLE)
    for name in ("script>'", "quoted", "名", "orders", "shop", "other</"):
        assert name not in text, name
    assert "relation 16384" in text
    assert "database 6, file 777" in page.render(hidden, BUNDLE)
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
            "34.4 ms (30 to 38.8) of waiting for reads in each second, all together: 5 % of their work",
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


def test_facts_of_earlier_servers_have_other_words():
    for earlier, word in (("act", "change"), ("look", "consider")):
        data = report(verdict=fact(list(verdict(verdict=earlier, confidence="sure"))))
        for row in data["facts"]["checkup"]["rows"]:
            row |= {"verdict": earlier, "confidence": "sure"}
        facts = made(data).facts
        assert facts.decided == decided(verdict=word).decided
        assert {(answer.verdict, answer.word) for answer in facts.checkup.found} == {(word, word)}


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
    data = report()
    del data["server"]["host"], data["facts"]["consumers"], data["facts"]["memory"]  # as earlier reports
    assert page.about(made(data)).startswith("PostgreSQL 15.18, running since")


def test_charts_are_those_of_vega_lite():
    """A page is made without this, since it takes long."""
    parts = (*hours_part.part(made()), decision.part(made()), *memory_part.part(made()), *details.parts(made()))
    charts = [chart for part in parts for chart in part.charts]
    assert len(charts) == 8
    for chart in charts:
        kind = alt.LayerChart if "layer" in chart.spec else alt.Chart
        kind.from_dict(chart.spec, validate=True)
    with pytest.raises(jsonschema.ValidationError):
        alt.Chart.from_dict(charts[0].spec | {"mark": {"type": "no mark"}}, validate=True)


def test_keep_consider_and_unknown_have_other_first_lines():
    nothing = {"saved_ms_per_second": None, "saved_ms_low": None, "saved_ms_high": None}
    keep = decided(verdict="fine", advised_bytes=192 * MB, **nothing)
    assert first_lines.headline(keep).answer == "Keep 192 MB"
    assert (
        first_lines.lines(keep)[0][1]
        == "nothing that is certain and matters; sessions wait 296 ms for reads in each second"
    )
    assert list(decision.markers(made(report(verdict=fact(list(verdict(advised_bytes=192 * MB))))))) == [
        "today, and advised: 192 MB"
    ]
    now = decided(verdict="consider", basis="storage reads", **nothing)
    assert first_lines.headline(now).badge[0] == "consider"
    assert dict(first_lines.lines(now))["Users would gain"] == "unknown in time; sizes are compared by storage reads"
    assert dict(first_lines.lines(now))["Seen"].endswith("; the recent workload decides")
    unknown = decided(verdict="unknown", basis=None, advised_bytes=None, seen_seconds=0.0, **nothing)
    assert first_lines.headline(unknown).answer == unknown.answer("size").answer
    assert dict(first_lines.lines(unknown))["Users would gain"] == "unknown"


def moment(day, hour):
    return 1000 * datetime(2026, 11, day, hour, tzinfo=UTC).timestamp()


def test_hours_have_their_waiting_and_their_best_size():
    (part,) = hours_part.part(made())
    (chart,) = part.charts
    values = chart.spec["data"]["values"]
    assert len(values) == 29  # one has no times
    assert [(row["x"], row["y"]) for row in values[:2]] == [(moment(21, 6), 100), (moment(21, 8), 102)]
    series = [row["series"] for row in values]
    assert [series.count(name) for name in hours_part.BEST] == [26, 1, 2, 0]
    assert part.tables[0].rows == (
        ("192 MB", "25", "117 ms", "0 ms"),
        ("96 MB", "3", "104 ms", "8 ms"),
        ("unknown", "1", "unknown", "unknown"),
        ("384 MB", "1", "107 ms", "10 ms"),
    )
    assert hours_part.part(made(report(hours=fact(list(hours())[:1])))) == ()


def test_memory_has_its_best_splits_and_the_least_that_is_enough():
    (part,) = memory_part.part(made())
    chart, splits = part.charts
    values = memory_part.points(memory_part.best(made().facts.memory.found))
    # neither the unknown total nor today's split, which is not the best
    assert [round(row["y"]) for row in values] == [800, 400, 250, 222, 200, 100]
    assert values[0]["size"] == "123 MB, with 96 MB of shared_buffers"
    assert "enough: 363 MB" in json.dumps(chart.spec)
    assert "today: 400 MB" in json.dumps(chart.spec)
    (bars,) = {json.dumps(layer["data"]["values"]) for layer in splits.spec["layer"] if "data" in layer} or {
        json.dumps(splits.spec["data"]["values"])
    }
    parts = [row for row in json.loads(bars) if row["y"] == "400 MB, today"]
    assert [(row["series"], row["label"]) for row in parts] == [("shared_buffers", "192 MB"), ("page cache", "177 MB")]
    (shown,) = part.tables
    assert len(shown.rows) == 8
    assert shown.rows[4][:3] == ("400 MB, today", "192 MB", "177 MB")
    assert shown.rows[7][1:] == ("unknown",) * 5
    assert part.after == ("1.47 GB: 54 % of the reads have been seen that are needed.",)
    assert memory_part.part(made(report(memory=fact(list(memory())[-1:])))) == ()


def test_a_note_that_repeats_is_said_once():
    noted = [
        row | {"note": "the load has changed" + ("; no times" if row["size_factor"] < 1 else "")} for row in sizes()
    ]
    assert decision.part(made(report(sizes=fact(noted)))).after == (
        "All sizes: the load has changed.",
        "48 MB, 96 MB, 120 MB, 144 MB, 168 MB: no times.",
    )
    alone = [row | {"note": "no times" + ("; all sizes: MGLRU" if row["size_factor"] == 1 else "")} for row in sizes()]
    assert decision.part(made(report(sizes=fact(alone)))).after == ("All sizes: MGLRU.", "All sizes: no times.")
    told = made(report(gains=fact([row | {"note": "still learning"} for row in gains()])))
    assert details.gains(told).after == ("All relations: still learning.",)


def test_a_comparison_lists_no_equal_lines():
    same = Page(compare.render(made(), made(), BUNDLE))
    assert EVIL not in same.text
    assert f"{len(made().facts.checkup.found)} answers are the same both times." in same.text
    assert "The same both times: shared_buffers; Advised size; " in same.text
    blank = Page(compare.render(made(unknown_report()), made(unknown_report()), BUNDLE)).text
    assert "Unknown both times: Advised size; " in blank
    assert "unknown reads" not in blank
    assert "unknown s" not in Page(pages()["unknown"]).text


def test_a_comparison_has_both_sizes_and_the_prediction():
    text = Page(pages()["comparison"]).text
    assert "From 192 MB to 96 MB" in text
    assert "The prediction held." in text
    assert "21.25 % (20.7 to 21.8)" in text  # predicted
    assert "21.54 %" in text  # measured
    assert "different servers" not in text
    other = report() | {"server": report()["server"] | {"system_identifier": "1"}}
    assert "These are reports about different servers." in compare.render(made(), made(other), BUNDLE)


def test_a_comparison_with_unknown_figures():
    text = Page(compare.render(made(unknown_report()), made(), BUNDLE)).text
    assert "The curve was unknown in at least one of the reports." in text
    assert "14.82 % of block accesses wait for storage; before, that was unknown." in text
    assert not re.search(r"\b(None|nan|NaN|null)\b", text)
