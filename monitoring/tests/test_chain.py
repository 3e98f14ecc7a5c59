"""The chain from a server under load to the console page. monitoring/run --test starts it, and names its addresses."""

import json
import os
import re
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "monitoring/prometheus/rules.yml"
CONSOLE = ROOT / "monitoring/prometheus/pgbufprobe.html"
DASHBOARD = ROOT / "monitoring/grafana/pgbufprobe.json"
PROMETHEUS = os.environ.get("PROMETHEUS_URL", "")
EXPORTER = os.environ.get("EXPORTER_URL", "")

# The last series to come are working sets of five minutes, without a gap in which the hand was too fast.
LAST_SERIES_AFTER = time.monotonic() + 900

pytestmark = pytest.mark.skipif(not PROMETHEUS, reason="monitoring/run --test starts what is tested")


def ask(path, **parameters):
    with urllib.request.urlopen(f"{PROMETHEUS}/api/v1/{path}?{urllib.parse.urlencode(parameters)}") as answer:
        return json.load(answer)["data"]


def wait_for_series(expr):
    """Returns the series of a query, as soon as there are any."""
    while not (series := ask("query", query=expr)["result"]) and time.monotonic() < LAST_SERIES_AFTER:
        time.sleep(2)
    return series


def depends_on_the_verdict(expr):
    """True of what is absent while today's size is kept."""
    return "pgbufprobe_verdict_saved_" in expr


def panel_queries():
    """Yields the title and each query of the dashboard's panels, also of those in collapsed rows."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    for panel in panels:
        panels.extend(panel.get("panels", []))
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", []))


def without_variables(expr):
    expr = re.sub(r"\$__(rate_interval|interval|range)|\$\{__(rate_interval|interval|range)\}", "1m", expr)
    return re.sub(r"\$\w+|\$\{\w+(:\w+)?\}", ".*", expr)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path="/usr/bin/chromium")


@pytest.fixture
def console(browser, request):
    """Opens the console page, and fails if it complained or fetched anything from elsewhere."""
    width, scheme = request.param
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints, fetched = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda sent: fetched.append(sent.url))
    wait_for_series('pgbufprobe_size_miss_ratio{size_factor!="1"}')
    wait_for_series("pgbufprobe:stay_seconds")
    page.goto(f"{PROMETHEUS}/consoles/pgbufprobe.html")
    yield page
    page.close()
    assert complaints == []
    assert [url for url in fetched if not url.startswith((f"{PROMETHEUS}/consoles/", "data:"))] == []


def scrape():
    with urllib.request.urlopen(f"{EXPORTER}/metrics") as answer:
        return answer.read().decode().splitlines()


def test_the_exporter_reads_every_query_without_error():
    deadline = time.monotonic() + 60
    while "pg_up 1" not in (lines := scrape()) and time.monotonic() < deadline:
        time.sleep(1)  # its connection ended with the server, which was restarted just before
    assert "pg_up 1" in lines
    assert "pg_exporter_last_scrape_error 0" in lines
    loaded = [line for line in lines if line.startswith("pg_exporter_user_queries_load_error{")]
    assert loaded
    assert all(line.endswith(" 0") for line in loaded)


def test_all_rules_are_loaded_and_evaluated():
    written = set(re.findall(r"- (?:record|alert): (\S+)", RULES.read_text()))
    while True:
        loaded = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
        if all(rule["health"] != "unknown" for rule in loaded):
            break
        time.sleep(1)
    assert {rule["name"] for rule in loaded} == written
    assert [rule for rule in loaded if rule["health"] != "ok"] == []


@pytest.mark.parametrize("file", [RULES, CONSOLE], ids=lambda file: file.name)
def test_rules_and_console_use_series_that_exist(file):
    used = set(re.findall(r"\bpgbufprobe_\w+(?=[\s{)%\[\"])", file.read_text()))
    assert used
    for series in sorted(name for name in used if not depends_on_the_verdict(name)):
        assert wait_for_series(series), series  # some are known once the sampler has timed reads, or learned enough


@pytest.mark.parametrize("title, expr", [query for query in panel_queries() if not depends_on_the_verdict(query[1])])
def test_every_query_of_every_panel_has_a_series(title, expr):
    assert wait_for_series(without_variables(expr)), title


def test_promtool_accepts_the_rules_and_their_tests():
    for command in ("check", "test"):
        file = RULES if command == "check" else RULES.with_name("rules_test.yml")
        run = subprocess.run(["promtool", command, "rules", file], cwd=RULES.parent, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("console", [(1400, "light"), (360, "light"), (1400, "dark"), (360, "dark")], indirect=True)
def test_the_console_page_shows_answers_and_the_curve(console):
    points = console.locator("polyline.curve").evaluate_all("curves => curves.map(curve => curve.points.length)")
    assert max(points) > 5
    assert console.locator("polygon.band").count() == 2
    assert "There is no series" not in console.inner_text("body")
    topics = console.locator("h2").count()
    assert topics > 1
    assert console.locator("b.fine, b.consider, b.change, b.unknown").count() == topics
    assert console.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("console", [(1000, "light")], indirect=True)
def test_the_console_page_can_be_shown(console, tmp_path):
    file = Path(os.environ.get("IMAGES", tmp_path)) / "console.png"
    console.screenshot(path=file, full_page=True)
    assert file.stat().st_size > 20_000
