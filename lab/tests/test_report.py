"""The report is complete, shows what failed or is missing, and needs no other file."""

import json
import re
from html.parser import HTMLParser

import pytest
from artificial import MAKERS, result, sample, write_results
from markupsafe import escape

from pgbufprobe_lab.analysis.compare import HERE
from pgbufprobe_lab.analysis.load import read_results
from pgbufprobe_lab.analysis.published import EXPERIMENTS, FIGURES
from pgbufprobe_lab.report import html, markdown, write_report
from pgbufprobe_lab.report.__main__ import main
from pgbufprobe_lab.report.assemble import assemble
from pgbufprobe_lab.samples import NAMES
from pgbufprobe_page import pictures

EVIL = '</script><img src=x onerror=alert(1)> & "quoted" |pipe| `tick`'


class Page(HTMLParser):
    """Elements of a page with their attributes, and its text outside scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self._script = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._script = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._script = False

    def handle_data(self, data):
        if not self._script:
            self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def pages(outdir, bundle="/* drawn by the library */"):
    report = assemble(read_results(outdir))
    return html.render(report, bundle), markdown.render(report)


@pytest.fixture
def full(tmp_path):
    write_results(tmp_path)
    return tmp_path


def test_every_experiment_has_its_section_charts_and_verdicts(full):
    page, text = pages(full)
    parsed = Page(page)
    assert [attrs["id"] for attrs in parsed.all("section")] == ["overview", *NAMES]
    specs = json.loads(re.search(r'id="charts">(.*?)</script>', page, re.S)[1])
    places = [attrs["id"] for attrs in parsed.all("div") if attrs.get("class") == "chart"]
    assert sorted(specs) == sorted(places)
    assert {place.split("-")[1] for place in places} == set(NAMES)
    for name in NAMES:
        assert f"\n## {name}: " in text


def test_the_whole_report_is_written_with_its_library(full):
    page_path, text_path = write_report(full)
    page = page_path.read_text(encoding="utf-8")
    assert (page_path.name, text_path.name) == ("report.html", "report.md")
    assert "window.vegaEmbed=" in page
    # All charts share one copy.
    assert page.count("window.vegaEmbed=") == 1


def test_each_chart_is_a_picture_beside_the_text(full):
    stale = full / "pictures" / "chart-A1-9.svg"
    stale.parent.mkdir()
    stale.touch()
    text = write_report(full)[1].read_text(encoding="utf-8")
    shown = re.findall(r"^!\[.+\]\((pictures/chart-(\w+)-\d+\.svg)\)$", text, re.M)
    assert {name for _, name in shown} == set(NAMES)
    assert {path for path, _ in shown} == {f"pictures/{path.name}" for path in stale.parent.iterdir()}
    for path, _ in shown:
        picture = (full / path).read_text(encoding="utf-8")
        assert picture.startswith("<svg ")
        assert "var(" not in picture


def test_a_picture_keeps_what_its_text_says():
    assert pictures.compact('<g x="1.25"><text>0.00411</text></g>') == '<g x="1.2">\n<text>0.00411</text>\n</g>\n'


def test_nothing_is_loaded(full):
    page = Page(write_report(full)[0].read_text(encoding="utf-8"))
    for tag, attrs in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert "src" not in attrs
        assert "srcset" not in attrs
        assert attrs.get("href", "#").startswith("#")
    policy = next(attrs["content"] for attrs in page.all("meta") if "http-equiv" in attrs)
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_charts_have_axes_with_titles(full):
    page, _ = pages(full)
    specs = json.loads(re.search(r'id="charts">(.*?)</script>', page, re.S)[1])
    for name, spec in specs.items():
        channels = [part.get("encoding", {}) for part in (spec, *spec.get("layer", []))]
        titles = [c["x"]["title"] for c in channels if "x" in c]
        assert titles, name
        assert all(titles), name


def test_published_beside_here_with_the_ratio(tmp_path):
    write_results(tmp_path, names=("A3",))
    _, text = pages(tmp_path)
    row = next(line for line in text.splitlines() if line.startswith("| hit in the page cache minus"))
    assert [cell.strip() for cell in row.strip("|").split("|")][1:] == [
        "0.038 ms",
        "0.038 ms (0.0372 to 0.0388)",
        "1 ×",
    ]


def test_every_published_figure_has_its_counterpart():
    for figure in FIGURES:
        assert HERE[figure.scenario](list(MAKERS[figure.scenario](True)))[figure.key] is not None, figure


def test_an_experiment_that_was_not_run_takes_one_line(tmp_path):
    write_results(tmp_path, names=("A5", "D"))
    page, text = pages(tmp_path)
    others = [name for name in NAMES if name not in ("A5", "D")]
    for name in others:
        title = f"{name} {EXPERIMENTS[name].title}"
        assert len(re.findall(rf"^\| {re.escape(title)} +\| not run ", text, re.M)) == 1
        assert text.count(title) == page.count(escape(title)) == 1
    assert text.count("not run") == page.count("not run") == len(others)
    assert [attrs["id"] for attrs in Page(page).all("section")] == ["overview", "A5", "D"]
    # Figures that have no counterpart here are not shown.
    assert "8.025" not in page


def test_an_empty_folder_makes_a_report_without_charts(tmp_path):
    page, text = pages(tmp_path)
    assert "No size can be recommended from this run" in text
    assert "<script" not in page


def test_a_broken_file_is_reported(tmp_path):
    (tmp_path / "A1.json").write_text('{"schema": 1, "samples": [')
    (tmp_path / "A2.json").write_text('{"schema": 99}')
    _, text = pages(tmp_path)
    assert "Could not read the result: A1.json" in text
    assert "A2.json is not of schema 1" in text


def failed_result(tmp_path):
    failure = {"step": "small, trial 3", "trial": 3, "pool": "small", "error": EVIL}
    kept = [s for s in MAKERS["A5"](True) if (s["pool"], s["trial"]) != ("small", 3)]
    (tmp_path / "A5.json").write_text(json.dumps(result("A5", status="failed", samples=kept, failures=[failure])))
    lost = sample("A5", "scan_ms", 987654.0, "small", 3, method="lock", stat="min")
    lines = [
        {"begin": "small, trial 1"},
        {"step": "small, trial 1", "sample": lost | {"value": 1.0}},
        {"done": "small, trial 1"},
        {"begin": "small, trial 3"},
        {"step": "small, trial 3", "sample": lost},
        {"failed": "small, trial 3", "failure": failure},
    ]
    (tmp_path / "A5.raw.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"cut of')


def test_failed_trials_are_shown_as_failed_and_count_in_nothing(tmp_path):
    failed_result(tmp_path)
    page, text = pages(tmp_path)
    assert "1 step failed; no figure includes it" in page
    lost = [line for line in text.splitlines() if "987,654" in line]
    assert len(lost) == 1
    assert lost[0].startswith("| failed: small, trial 3")
    assert "The cost of a search of the whole pool for dirty pages is proportional" in text
    assert 'class="failed"' in page


def test_a_step_that_was_repeated_with_success_is_not_failed(tmp_path):
    failed_result(tmp_path)
    with open(tmp_path / "A5.raw.jsonl", "w") as file:
        for entry in (
            {"begin": "s"},
            {"step": "s", "sample": sample("A5", "scan_ms", 5.0, "small", method="lock", stat="min")},
            {"failed": "s"},
            {"begin": "s"},
            {"done": "s"},
        ):
            file.write(json.dumps(entry) + "\n")
    assert read_results(tmp_path)["A5"].discarded == ()


def test_text_from_results_is_never_markup(tmp_path):
    failed_result(tmp_path)
    samples = [s | {"data_dir": EVIL if s["data_dir"] == "/srv/one" else s["data_dir"]} for s in MAKERS["E5"](True)]
    about = {
        "machine": {"cpu": EVIL, "cpus": 2, "memory_bytes": 1, "kernel": EVIL, "filesystem": EVIL},
        "memory_limit": {"bytes": None, "how": "none", "why": EVIL},
        "profile": EVIL,
    }
    (tmp_path / "E5.json").write_text(json.dumps(result("E5", samples=samples, **about)))
    page, text = pages(tmp_path)
    parsed = Page(page)
    assert parsed.all("img") == []
    assert len(parsed.all("script")) == 3
    assert EVIL in "".join(parsed.text)
    assert json.loads(re.search(r'id="charts">(.*?)</script>', page, re.S)[1])
    for line in text.splitlines():
        assert "<img" not in line
        if "onerror" in line and line.startswith("|"):
            assert r"\|pipe\|" in line


def test_a_library_cannot_end_its_own_script(tmp_path):
    write_results(tmp_path, names=("A5",))
    page, _ = pages(tmp_path, bundle='const end = "</script><b>"; const open = "<!--";')
    assert Page(page).all("b") == []


def test_samples_that_are_no_numbers_are_left_out(tmp_path):
    samples = list(MAKERS["A5"](True))
    broken = [samples[0] | {"value": None}, samples[0] | {"value": "1"}, samples[0] | {"value": True}, "text", {}]
    (tmp_path / "A5.json").write_text(json.dumps(result("A5", samples=samples + broken)))
    assert read_results(tmp_path)["A5"].samples == tuple(samples)


def test_an_interrupted_run_says_so(tmp_path):
    (tmp_path / "A5.json").write_text(json.dumps(result("A5", status="interrupted")))
    page, _ = pages(tmp_path)
    assert "This experiment was interrupted" in page


def test_the_table_of_a_markdown_row_has_as_many_cells_as_its_head(full):
    _, text = pages(full)
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(counts) == 1


def test_the_command_wants_a_folder(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path / "nowhere")])
    assert "does not exist" in capsys.readouterr().err


def test_the_command_writes_both_files(full, capsys):
    assert main([str(full)]) == 0
    assert capsys.readouterr().out.split() == [str(full / "report.html"), str(full / "report.md")]
