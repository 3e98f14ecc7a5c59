"""Each alert is explained, and tested for firing and for not firing."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "monitoring/prometheus/rules.yml"
ALERTS = set(re.findall(r"- alert: (\w+)", RULES.read_text()))


def test_the_documentation_has_a_section_for_each_alert():
    sections = set(re.findall(r"^## (\w+)$", (ROOT / "docs/alerts.md").read_text(), re.MULTILINE))
    assert sections == ALERTS


def test_each_alert_links_to_its_section():
    """PGXN has a page for each file of the documentation, where a section is named as its heading."""
    runbooks = re.findall(r"runbook_url: https://pgxn\.org/dist/pgbufprobe/docs/alerts\.html#(\w+)", RULES.read_text())
    assert sorted(runbooks) == sorted(ALERTS)


def test_each_alert_is_tested_for_firing_and_for_not_firing():
    cases = RULES.with_name("rules_test.yml").read_text().split("- alertname: ")[1:]
    firing = {case.split()[0] for case in cases if "exp_alerts:" in case}
    silent = {case.split()[0] for case in cases if "exp_alerts:" not in case}
    assert firing == ALERTS
    assert silent == ALERTS
