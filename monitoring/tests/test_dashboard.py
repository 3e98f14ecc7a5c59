"""The Grafana dashboards: current, consistent with the series and the alerts, and each query has an answer."""

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
FLEET = json.loads((FOLDER / "pgbufprobe-fleet.json").read_text())
RULES_FILE = MONITORING / "prometheus/rules.yml"
RULES = [rule for group in yaml.safe_load(RULES_FILE.read_text())["groups"] for rule in group["rules"]]
QUERIES = yaml.safe_load((MONITORING / "metrics.yaml").read_text())["queries"]
SERIES = {f"{query['name']}_{column}": query for query in QUERIES for column in query["values"]}
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
ALL_PANELS = [*PANELS, *FLEET["panels"]]
TARGETS = [
    pytest.param(target["expr"], target["legendFormat"], id=f"{panel['title']}: {target['legendFormat']}")
    for panel in ALL_PANELS
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


@pytest.mark.parametrize("arguments, file", [([], "pgbufprobe.json"), (["fleet"], "pgbufprobe-fleet.json")])
def test_file_is_current(arguments, file):
    command = [sys.executable, FOLDER / "generate", *arguments]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert made == (FOLDER / file).read_text(), "run monitoring/grafana/generate"


def test_rows_are_the_topics_of_the_checkup():
    checkup = (MONITORING.parent / "src/answers/checkup.c").read_text()
    topics = re.findall(r'^\t\{"([a-z ]+)", answer_', checkup, re.MULTILINE)
    rows = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]
    assert len(topics) > 1
    assert [row.lower().removesuffix(" of shared_buffers") for row in rows] == topics


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


@pytest.mark.parametrize("board", [DASHBOARD, FLEET], ids=["server", "fleet"])
def test_ids_are_unique(board):
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in ALL_PANELS:
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs), panel["title"]


@pytest.mark.parametrize("board", [DASHBOARD, FLEET], ids=["server", "fleet"])
def test_panels_do_not_overlap(board):
    def cells(panel):
        at = panel["gridPos"]
        return set(itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])))

    for panel in board["panels"]:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    for one, other in itertools.combinations(board["panels"], 2):
        assert not cells(one) & cells(other), (one["title"], other["title"])


def test_panels_have_a_unit_and_say_what_to_do():
    for panel in ALL_PANELS:
        assert panel["fieldConfig"]["defaults"]["unit"] in {"bytes", "s", "percentunit", "short", "none"}
        assert panel["description"].endswith("."), panel["title"]


def test_overrides_name_columns():
    for panel in ALL_PANELS:
        columns = {target["refId"] for target in panel["targets"]}
        columns |= {"instance"} if panel in FLEET["panels"] else set()
        for override in panel["fieldConfig"]["overrides"]:
            assert override["matcher"]["options"] in columns
            for setting in override["properties"]:
                assert setting["id"] != "custom.fillBelowTo" or setting["value"] in columns


def test_each_alert_is_linked_from_a_panel():
    urls = {link["url"] for panel in PANELS for link in panel.get("links") or []}
    assert urls == {f"${{guide:raw}}#{rule['alert']}" for rule in RULES if "alert" in rule}


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


THREE = {
    "small": {"change": 1, "today": 128, "advised": 256, "equal_from": 192, "saved": 0.25},
    "keep": {"fine": 1, "today": 128, "advised": 128, "equal_from": 96},
    "unknown": {"unknown": 1, "today": 128},
}


def three(_):
    """The text of an exporter about three instances."""
    for instance, found in THREE.items():
        for word in ("fine", "consider", "change", "unknown"):
            yield f'pgbufprobe_verdict_{word}{{instance="{instance}"}} {found.get(word, 0)}\n'
        for size in ("today", "advised", "equal_from"):
            if size in found:
                yield f'pgbufprobe_verdict_{size}_bytes{{instance="{instance}"}} {found[size] * 2**20}\n'
        if "saved" in found:
            for end in ("", "_low", "_high"):
                yield f'pgbufprobe_verdict_saved_seconds_per_second{end}{{instance="{instance}"}} {found["saved"]}\n'


def test_the_fleet_has_a_row_for_each_instance(tmp_path):
    with prometheus(tmp_path, three) as (address, _):

        def column(expr, label="instance"):
            query = urllib.parse.urlencode({"query": expr.replace("$cluster", ".*")})
            reply = get(f"http://{address}/api/v1/query?{query}")
            result = json.loads(reply)["data"]["result"] if reply else []
            return {sample["metric"].get(label): float(sample["value"][1]) for sample in result}

        *sums, table = FLEET["panels"]
        columns = {target["refId"]: target["expr"] for target in table["targets"]}
        deadline = time.monotonic() + 30
        while len(column(columns["verdict"])) < 3 or "small" not in column(columns["could give back"]):
            assert time.monotonic() < deadline
            time.sleep(0.5)
        assert column(columns["verdict"]) == {"small": 3, "keep": 1, "unknown": 0}
        assert column(columns["another size"]) == {"small": 1, "keep": 0}
        assert column(columns["gain"]) == column(columns["at least"]) | {"keep": 0} == {"small": 0.25, "keep": 0}
        assert column(columns["could give back"]) == {"small": 0, "keep": 32 * 2**20}
        totals = {
            target["legendFormat"]: column(target["expr"]).get(None) for panel in sums for target in panel["targets"]
        }
        assert totals == {"unknown": 1, "fine": 1, "consider": 0, "change": 1} | {
            "with change": 0.25,
            "with consider": 0,
            "memory": 32 * 2**20,
        }


def test_the_table_of_the_fleet_leads_to_the_dashboard_of_a_server():
    text = json.dumps(FLEET["panels"][-1])
    assert f"/d/{DASHBOARD['uid']}?var-instance=" in text


def dict_of(answer):
    return {metric["size_factor"]: value for metric, value in answer}
