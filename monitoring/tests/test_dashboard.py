"""The Grafana dashboard: current, consistent with the series and the alerts, and each query has an answer."""

import itertools
import json
import re
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import pytest
import yaml
from prometheus import get, prometheus

MONITORING = Path(__file__).resolve().parents[1]
FOLDER = MONITORING / "grafana"
DASHBOARD = json.loads((FOLDER / "pgbufprobe.json").read_text())
RULES_FILE = MONITORING / "prometheus/rules.yml"
RULES = [rule for group in yaml.safe_load(RULES_FILE.read_text())["groups"] for rule in group["rules"]]
QUERIES = yaml.safe_load((MONITORING / "metrics.yaml").read_text())["queries"]
SERIES = {f"{query['name']}_{column}": query for query in QUERIES for column in query["values"]}
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [
    pytest.param(target["expr"], target["legendFormat"], id=f"{panel['title']}: {target['legendFormat']}")
    for panel in PANELS
    for target in panel["targets"]
]
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
# The choices of a user.
CHOICES = {"cluster": ".*", "database": ".*"}
# What a label has, other than "a" and "b".
LABELS = {
    "usagecount": ["unused", *"012345"],
    "scenario": ["current", "worst"],
    "method": ["read", "lock", "match"],
    "size_factor": ["0.5", "1", "2", "4"],
    "minutes": ["1", "5", "15", "60"],
}


def test_file_is_current():
    made = subprocess.run([sys.executable, FOLDER / "generate"], capture_output=True, text=True, check=True).stdout
    assert made == (FOLDER / "pgbufprobe.json").read_text(), "run monitoring/grafana/generate"


def test_each_row_is_a_question_of_the_checkup():
    checkup = (MONITORING.parent / "src/answers/checkup.c").read_text()
    questions = re.findall(r'"(\w[^"]*\?)"', checkup)
    rows = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]
    assert len(rows) > 1
    assert rows == [question for question in questions if question in rows]


@pytest.mark.parametrize("expr, legend", TARGETS)
def test_queries_use_defined_series(expr, legend):
    names = set(re.findall(r"\bpgbufprobe[_:][a-z0-9_:]+", expr))
    assert names
    assert names <= SERIES.keys() | {rule["record"] for rule in RULES if "record" in rule}


def test_each_query_of_the_collectors_is_on_a_panel():
    shown = " ".join(target["expr"] for panel in PANELS for target in panel["targets"])
    assert {query["name"] for query in QUERIES if query["name"] + "_" not in shown} == set()


def test_each_variable_is_used():
    text = json.dumps([DASHBOARD["panels"], [variable.get("query") for variable in VARIABLES.values()]])
    assert set(VARIABLES) == {"datasource", "cluster", "instance", "database", "guide"}
    for name in VARIABLES:
        assert re.search(rf"\$\{{?{name}\b", text), name


def test_ids_are_unique():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in PANELS:
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs), panel["title"]


def test_panels_do_not_overlap():
    def cells(panel):
        at = panel["gridPos"]
        return set(itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])))

    for panel in DASHBOARD["panels"]:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    for one, other in itertools.combinations(DASHBOARD["panels"], 2):
        assert not cells(one) & cells(other), (one["title"], other["title"])


def test_panels_have_a_unit_and_say_what_to_do():
    for panel in PANELS:
        assert panel["fieldConfig"]["defaults"]["unit"] in {"bytes", "s", "percentunit", "short", "none"}
        assert panel["description"].endswith("."), panel["title"]


def test_overrides_name_columns():
    for panel in PANELS:
        columns = {target["refId"] for target in panel["targets"]}
        for override in panel["fieldConfig"]["overrides"]:
            assert override["matcher"]["options"] in columns
            for setting in override["properties"]:
                assert setting["id"] != "custom.fillBelowTo" or setting["value"] in columns


def test_each_alert_is_linked_from_a_panel():
    urls = {link["url"] for panel in PANELS for link in panel.get("links") or []}
    assert urls == {f"${{guide:raw}}#{rule['alert'].lower()}" for rule in RULES if "alert" in rule}


def exposition(seconds):
    """The text of an exporter, after so many seconds. Size 0.5 is advised, size 4 does not fit, counters count."""
    for name, query in SERIES.items():
        labels = query.get("labels") or {}
        for values in itertools.product(*(LABELS.get(label, ["a", "b"]) for label in labels)):
            pairs = dict(zip(labels, values, strict=True))
            size = float(pairs.get("size_factor", 1))
            value = {
                "pgbufprobe_size_advised": int(size == 0.5),
                "pgbufprobe_size_fits": int(size < 4),
                "pgbufprobe_size_shared_buffers_bytes": size * 2**30,
                "pgbufprobe_size_storage_ratio": size / 8,
            }.get(name, 1 + 10 * seconds if name.endswith("_total") else 1)
            if size < 4 or not name.endswith(("ratio", "low", "high")):
                selector = ",".join(f'{label}="{text}"' for label, text in pairs.items())
                yield f"{name}{{{selector}}} {value}\n"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """A function that asks Prometheus, which scrapes these series and runs the rules."""
    with prometheus(tmp_path_factory.mktemp("prometheus"), exposition) as (address, instance):
        CHOICES["instance"] = instance

        def answer(expr, patience=20):
            """Asks until there is an answer: series need two scrapes, and rules an evaluation."""
            query = urllib.parse.urlencode({"query": re.sub(r"\$(\w+)", lambda name: CHOICES[name[1]], expr)})
            deadline = time.monotonic() + patience
            result = []
            while not result and time.monotonic() < deadline:
                reply = get(f"http://{address}/api/v1/query?{query}")
                result = json.loads(reply)["data"]["result"] if reply else []
                if not result:
                    time.sleep(0.5)
            return [(sample["metric"], float(sample["value"][1])) for sample in result]

        yield answer


@pytest.mark.parametrize("expr, legend", TARGETS)
def test_each_query_has_an_answer(ask, expr, legend):
    answer = ask(expr)
    assert answer
    assert all(value == value for _, value in answer), "not a number"
    labels = re.findall(r"{{(\w+)}}", legend)
    assert all(label in metric for metric, _ in answer for label in labels)
    names = [re.sub(r"{{(\w+)}}", lambda label, found=metric: found[label[1]], legend) for metric, _ in answer]
    assert len(set(names)) == len(names) or "size_factor" in answer[0][0] or "relation" in answer[0][0]


@pytest.mark.parametrize("name", ["cluster", "instance", "database"])
def test_variables_have_values(ask, name):
    series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", VARIABLES[name]["query"]).groups()
    assert all(metric[label] for metric, _ in ask(f"group by ({label}) ({series})"))


def test_curve_marks_the_sizes(ask):
    (panel,) = (panel for panel in PANELS if panel["type"] == "trend")
    column = {target["refId"]: dict_of(ask(target["expr"])) for target in panel["targets"]}
    assert column["shared_buffers"] == {"0.5": 2**29, "1": 2**30, "2": 2**31, "4": 2**32}
    assert column["storage ratio"] == {"0.5": 0.0625, "1": 0.125, "2": 0.25}
    assert column["today"] == {"1": 0.125}
    assert column["advised"] == {"0.5": 0.0625}
    assert column["does not fit"] == {"0.5": 0, "1": 0, "2": 0, "4": 1}


def dict_of(answer):
    return {metric["size_factor"]: value for metric, value in answer}
