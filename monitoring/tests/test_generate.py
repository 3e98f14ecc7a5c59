"""The files for collectors are current, keep to the rules for series, and have what the schema of each format demands.

t/600_monitoring_queries.pl runs their queries.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

MONITORING = Path(__file__).resolve().parents[1]
DEFINITION = yaml.safe_load((MONITORING / "metrics.yaml").read_text())
SCRIPT = (MONITORING.parent / "pgbufprobe--1.0.sql").read_text()
QUERIES = {query["name"]: query for query in DEFINITION["queries"]}
KINDS = {f"{name}_{column}": fields[0] for name, query in QUERIES.items() for column, fields in query["values"].items()}
LABELS = {f"{name}_{column}": set(query["labels"]) for name, query in QUERIES.items() for column in query["values"]}
GENERATED = "monitoring/generate"


def generate(folder, *options):
    subprocess.run([sys.executable, MONITORING / "generate", *options, folder], check=True)
    return {path.relative_to(folder): path.read_text() for path in sorted(folder.rglob("*.y*ml"))}


def content(name):
    return yaml.safe_load((MONITORING / name).read_text())


def parts_of(entries):
    """All pairs of a column's name and its fields, in an entry of postgres_exporter or pg_exporter."""
    return [pair for entry in entries for pair in entry.items()]


# ---- the files ----


def test_files_are_current(tmp_path):
    there = {
        path.relative_to(MONITORING): path.read_text()
        for path in MONITORING.rglob("*.y*ml")
        if path.read_text().startswith(f"# Written by {GENERATED} ")
    }
    assert generate(tmp_path) == there


@pytest.mark.parametrize("schema, written", [("probes", "probes"), ('odd "schema"', '"odd ""schema"""')])
def test_a_schema_is_written_before_each_view(tmp_path, schema, written):
    for text in generate(tmp_path, "--schema", schema).values():
        views = re.findall(r"(\S+)\bpgbufprobe_metrics_\w+", text.replace(written, "SCHEMA"))
        assert views
        assert set(views) == {"SCHEMA."}


def test_queries_name_columns_of_views_and_nothing_else():
    """What a session would have to look up by its search path could be somebody else's."""
    name = r"[a-z_0-9]+( AS [a-z_0-9]+)?"
    view = r"pgbufprobe\.pgbufprobe_metrics_[a-z_]+"
    allowed = rf"SELECT (/\* pgwatch_generated \*/ )?{name}(, {name})*\nFROM {view}(, {view})?(\nWHERE [a-z_0-9]+ IS NOT NULL)?"
    found = []
    for path in MONITORING.glob("*/*.y*ml"):
        if path.read_text().startswith(f"# Written by {GENERATED} "):
            found += queries_in(yaml.safe_load(path.read_text()))
    assert len(found) > 100
    for query in found:
        assert re.fullmatch(allowed, query), query


def queries_in(content):
    """Yields the queries of a file, but for those that ask whether the extension is there."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        if key == "queries" and isinstance(value, str):
            yield from queries_in(yaml.safe_load(value))
        elif isinstance(value, dict | list):
            yield from queries_in(value)
        elif isinstance(value, str) and value.startswith("SELECT") and key != "predicate_query":
            yield value


# ---- the definition ----


def test_names_say_what_they_count():
    for series, kind in KINDS.items():
        assert re.fullmatch(r"pgbufprobe(_[a-z]+)+", series)
        assert (kind == "counter") == series.endswith("_total")
        assert kind in ("gauge", "counter")
        assert not set(series.split("_")) & {"ms", "us", "ns", "pages", "blocks", "percent", "fraction", "mb", "gb"}
    for query in QUERIES.values():
        for column, (_, unit, *_) in query["values"].items():
            assert (unit == "bytes") == ("bytes" in column.split("_"))
            assert unit != "seconds" or "seconds" in column.split("_")


def test_labels_are_bounded():
    relation = {"datname", "relation", "fork"}
    assert {label for labels in LABELS.values() for label in labels} - relation == {
        "usagecount",
        "scenario",
        "method",
        "size_factor",
        "minutes",
        "goal",
    }
    for query in QUERIES.values():
        view = query["name"].replace("_", "_metrics_", 1)
        text = re.search(rf"^CREATE VIEW {view} AS\n(.*?);$", SCRIPT, re.MULTILINE | re.DOTALL)[1]
        assert "relation" not in query["labels"] or "LIMIT 20" in text
        assert "note" not in text


def test_each_column_is_described_once():
    helps = [fields[2] for query in QUERIES.values() for fields in query["values"].values()]
    assert all(helps)
    for query in QUERIES.values():
        texts = [fields[2] for fields in query["values"].values()]
        assert len(set(texts)) == len(texts)
        assert query["scope"] in ("instance", "database")
        assert query["interval"] in (15, 60, 240)


def test_the_readme_lists_all_series():
    rows = re.findall(
        r"^\| `(pgbufprobe_\w+)` \|(.*)\|(.*)\| (\d+) \|$", (MONITORING / "README.md").read_text(), re.MULTILINE
    )
    listed = {
        name: (re.findall(r"`(\w+)`", labels), re.findall(r"`(\w+)`", columns), int(seconds))
        for name, labels, columns, seconds in rows
    }
    assert listed == {
        name: (list(query["labels"]), list(query["values"]), query["interval"]) for name, query in QUERIES.items()
    }


# ---- the formats ----


def test_sql_exporter():
    """config/{collector,metric,query}_config.go of burningalchemist/sql_exporter refuse other keys."""
    seen = {}
    for path in MONITORING.glob("sql_exporter/*.collector.yml"):
        collector = yaml.safe_load(path.read_text())
        assert set(collector) - {"min_interval"} == {"collector_name", "metrics", "queries"}
        assert path.name == f"{collector['collector_name']}.collector.yml"
        assert ("min_interval" in collector) == (collector["collector_name"] != "pgbufprobe_15s")
        queries = {query["query_name"]: query["query"] for query in collector["queries"]}
        for query in collector["queries"]:
            assert set(query) == {"query_name", "query"}
            assert collector["collector_name"] == f"pgbufprobe_{QUERIES[query['query_name']]['interval']}s"
        for metric in collector["metrics"]:
            assert set(metric) - {"key_labels"} == {"metric_name", "type", "help", "values", "query_ref"}
            assert metric["query_ref"] in queries
            assert len(metric["values"]) == 1
            assert not {"job", "target"} & set(metric.get("key_labels", []))
            seen[metric["metric_name"]] = metric["type"], set(metric.get("key_labels", []))
    assert seen == {series: (kind, LABELS[series]) for series, kind in KINDS.items()}


def check_user_queries(entries, keys):
    """Each series is in one entry: NAME_COLUMN."""
    seen = {}
    for name, entry in entries.items():
        assert set(entry) == {"query", "metrics"} | (set(entry) & keys)
        usages = {column: fields["usage"] for column, fields in parts_of(entry["metrics"])}
        for column, fields in parts_of(entry["metrics"]):
            assert set(fields) == {"usage", "description"}
            assert fields["usage"] in ("LABEL", "GAUGE", "COUNTER")
            if fields["usage"] != "LABEL":
                assert f"{name}_{column}" not in seen
                labels = {label for label, usage in usages.items() if usage == "LABEL"}
                seen[f"{name}_{column}"] = fields["usage"].lower(), labels
    assert seen == {series: (kind, LABELS[series]) for series, kind in KINDS.items()}


def test_postgres_exporter():
    """UserQuery in cmd/postgres_exporter/queries.go, MappingOptions in postgres_exporter.go, version 0.11.1."""
    entries = content("postgres_exporter/queries.yaml")
    check_user_queries(entries, {"master", "cache_seconds"})
    for name, entry in entries.items():
        assert entry.get("cache_seconds", 0) in (60, 240) or name == "pgbufprobe_clock"
        assert entry.get("master", True) is True


def test_cloudnativepg():
    """UserQuery and ColumnMapping in pkg/management/postgres/metrics/parser.go; docs/src/monitoring.md."""
    config = content("cloudnativepg/configmap.yaml")
    assert (config["apiVersion"], config["kind"]) == ("v1", "ConfigMap")
    assert "cnpg.io/reload" in config["metadata"]["labels"]
    entries = yaml.safe_load(config["data"]["queries"])
    check_user_queries(entries, {"predicate_query"})
    assert all(entry["predicate_query"].endswith(" AS predicate") for entry in entries.values())


def test_pgwatch():
    """Metric and Preset in internal/metrics/types.go of pgwatch; docs/reference/metric_definitions.md."""
    file = content("pgwatch/pgbufprobe.yaml")
    assert set(file) == {"metrics", "presets"}
    assert file["presets"]["pgbufprobe"]["metrics"] == {name: query["interval"] for name, query in QUERIES.items()}
    assert set(file["metrics"]) == set(QUERIES)
    for name, metric in file["metrics"].items():
        assert set(metric) == {"description", "sqls", "gauges", "is_instance_level", "statement_timeout_seconds"}
        assert list(metric["sqls"]) == [15]
        assert "epoch_ns, " in metric["sqls"][15]
        columns = QUERIES[name]["values"]
        assert metric["gauges"] == [column for column, fields in columns.items() if fields[0] == "gauge"]
        for label in QUERIES[name]["labels"]:
            assert f"{label} AS tag_{label}" in metric["sqls"][15]


def test_pg_exporter():
    """Query in exporter/query.go and Column in exporter/column.go of pg_exporter; config/0000-doc.yml."""
    seen = {}
    for branch, entry in content("pg_exporter/pgbufprobe.yml").items():
        assert branch.startswith(entry["name"])
        assert set(entry) - {"ttl"} == {"name", "desc", "query", "timeout", "min_version", "tags", "metrics"}
        assert "extension:pgbufprobe" in entry["tags"]
        assert ("ttl" in entry) == (entry["name"] != "pgbufprobe_clock")
        labels = {column for column, fields in parts_of(entry["metrics"]) if fields["usage"] == "LABEL"}
        for column, fields in parts_of(entry["metrics"]):
            assert set(fields) == {"usage", "description"}
            if fields["usage"] != "LABEL":
                assert f"{entry['name']}_{column}" not in seen
                seen[f"{entry['name']}_{column}"] = fields["usage"].lower(), labels
    assert seen == {series: (kind, LABELS[series]) for series, kind in KINDS.items()}


def test_opentelemetry():
    """Config, Query and MetricCfg in internal/sqlquery/config.go of opentelemetry-collector-contrib."""
    seen = {}
    file = content("opentelemetry/pgbufprobe.yaml")
    assert set(file) == {"receivers"}
    for name, receiver in file["receivers"].items():
        assert set(receiver) == {"driver", "datasource", "collection_interval", "queries"}
        assert name == f"sqlquery/pgbufprobe_{receiver['collection_interval']}"
        for query in receiver["queries"]:
            assert set(query) == {"sql", "metrics"}
            # the collector would take it for a variable
            assert "$" not in query["sql"]
            for metric in query["metrics"]:
                kind = "counter" if metric.pop("monotonic", False) else "gauge"
                assert set(metric) - {"attribute_columns"} == {
                    "metric_name",
                    "value_column",
                    "value_type",
                    "data_type",
                    "unit",
                    "description",
                }
                assert metric["data_type"] == {"counter": "sum", "gauge": "gauge"}[kind]
                assert metric["value_type"] == "double"
                # Prometheus adds other units to the name
                assert re.fullmatch(r"By|s|\{\w+\}", metric["unit"])
                assert metric["metric_name"] not in seen
                seen[metric["metric_name"]] = kind, set(metric.get("attribute_columns", []))
    assert seen == {series: (kind, LABELS[series]) for series, kind in KINDS.items()}
