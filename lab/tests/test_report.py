"""The report is complete, shows what failed or is missing, and needs no other file."""

import json
import re
import shutil
from html.parser import HTMLParser

import pytest
from artificial import MAKERS, result, sample, write_results
from markupsafe import escape
from playwright.sync_api import sync_playwright

from pgbufprobe_lab.analysis.compare import HERE
from pgbufprobe_lab.analysis.load import read_results
from pgbufprobe_lab.analysis.published import EXPERIMENTS, FIGURES
from pgbufprobe_lab.report import html, markdown, write_report
from pgbufprobe_lab.report.__main__ import main
from pgbufprobe_lab.report.assemble import assemble
from pgbufprobe_lab.report.charts import CHARTS
from pgbufprobe_lab.samples import NAMES

EVIL = '</script><img src=x onerror=alert(1)> & "quoted" |pipe| `tick`'


# The labels of charts that are not within them, or that overlap the next one.
UNREADABLE = """pictures => pictures.filter(picture => picture.checkVisibility()).flatMap(picture => {
  const outer = picture.getBoundingClientRect();
  const texts = [...picture.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
  return texts.filter(([, box], i) => box.left < outer.left - 1 || box.right > outer.right + 1 ||
    texts.slice(i + 1).some(([, other]) => box.left < other.right && other.left < box.right &&
      box.top < other.bottom - 3 && other.top < box.bottom - 3)).map(([text]) => text);
})"""


class Page(HTMLParser):
    """Elements of a page with their attributes, and its text outside styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self._style = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._style = tag == "style"

    def handle_endtag(self, tag):
        self._style = False

    def handle_data(self, data):
        if not self._style:
            self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def pages(outdir):
    report = assemble(read_results(outdir))
    return html.render(report), markdown.render(report)


@pytest.fixture
def full(tmp_path):
    write_results(tmp_path)
    return tmp_path


def test_every_experiment_has_its_section_charts_and_verdicts(full):
    page, text = pages(full)
    parsed = Page(page)
    assert [attrs["id"] for attrs in parsed.all("section")] == ["overview", *NAMES]
    for name, section in zip(NAMES, page.split("<section ")[2:], strict=True):
        assert "<figure" in section
        assert f"\n## {name}: " in text
    assert parsed.all("script") == []


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


def test_nothing_is_loaded(full):
    page = Page(write_report(full)[0].read_text(encoding="utf-8"))
    for tag, attrs in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert "src" not in attrs
        assert "srcset" not in attrs
        assert attrs.get("href", "#").startswith("#")
    assert page.all("script") == []
    policy = next(attrs["content"] for attrs in page.all("meta") if "http-equiv" in attrs)
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_charts_have_axes_with_titles(full):
    for name, make in CHARTS.items():
        for chart in make(read_results(full)[name].samples):
            *_, title = re.findall(r"<text [^>]*>([^<]*)</text></g>", chart.drawn[0])
            assert re.search("[a-z]", title), chart.title


@pytest.mark.parametrize("width, scheme", [(360, "dark"), (1280, "light")])
def test_labels_are_readable(full, width, scheme):
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        opened.goto(write_report(full)[0].as_uri())
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.locator("svg[role=img]").evaluate_all(UNREADABLE) == []
        browser.close()


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
    assert "<figure" not in page


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
    assert parsed.all("script") == []
    assert EVIL in "".join(parsed.text)
    for line in text.splitlines():
        assert "<img" not in line
        if "onerror" in line and line.startswith("|"):
            assert r"\|pipe\|" in line


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
