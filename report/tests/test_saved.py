"""Files of facts: those of earlier versions, and the lines that psql writes."""

import json

import pytest
from artificial import MAKERS, MB, NAMES, fact, made, report

from pgbufprobe_report import page
from pgbufprobe_report.facts import GatherError
from pgbufprobe_report.saved import load


def written(path, text):
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return load(str(path))


# ---- of earlier versions ----

NAME = {"relation": NAMES[2], "oid": 16386, "database": "shop", "relfilenode": 16386, "database_oid": 5, "fork": "main"}
SIZE = next(iter(MAKERS["sizes"]()))
EARLIER = {
    "verdict": {("seen_" * (key == "seconds")) + key: value for key, value in next(MAKERS["verdict"]()).items()}
    | {"verdict": "act", "advised_read_ms_per_second": 262.0},
    "checkup": {
        "key": "victim_cost",
        "question": "What?",
        "answer": "Little.",
        "value": 0.1,
        "verdict": "look",
        "action": None,
    },
    "sizes": {
        ("estd_" * (key in ("miss_ratio", "storage_ratio", "read_ms_per_second"))) + key: SIZE[key] for key in SIZE
    },
    "usage": {"usagecount": 1, "bytes": 80 * 8192, "dirty": 1, "pinned": 0, "fraction": 0.1, "buffers_error": 5.0},
    "history": next(MAKERS["history"]()) | {"unused": 100},
    "victims": {"scenario": "current", "victims": 1000, "p50_us": 0.1, "p95_us": 0.2, "max_us": 1.0}
    | {"inspected_per_victim": 2.5, "dirty_victims": 6, "ms_per_pass": 0.4},
    "scans": {"method": "read", "models": "nothing", "avg_ms": 0.1, "min_ms": 0.1, "max_ms": 0.2, "ms_per_gb": 0.3},
    "gains": NAME
    | {
        "estd_loads": 9,
        "estd_reads_saved": 5,
        "estd_reads_saved_error": 1,
        "estd_reads_added": 4,
        "estd_reads_added_error": 1,
    }
    | {"estd_storage_reads_saved": None, "estd_storage_reads_saved_error": None, "note": None}
    | {"working_set_bytes": 50 * MB, "working_set_bytes_error": MB},
    "pool": NAME | {"bytes": 40 * MB, "idle_bytes": MB, "dirty_bytes": MB, "usagecount_avg": 2.5, "bytes_error": 0},
    "caches": {"relation": None, "oid": None, "fork": None, "bytes": 9 * MB, "shared_bytes": 5 * MB, "os_bytes": 4 * MB}
    | {"both_bytes": 3 * MB, "both_bytes_error": MB, "trustworthy": True},
}


def earlier():
    """Returns a report as the first version wrote it."""
    data = report(**{name: fact([row]) | {"seconds": 0.1} for name, row in EARLIER.items()})
    for name in ("status", "consumers", "memory"):
        del data["facts"][name]
    del data["server"]["host"]
    return data | {"pgbufprobe_report": 1}


def test_facts_of_earlier_versions_have_other_columns(tmp_path):
    facts = written(tmp_path / "earlier.json", earlier()).facts
    (decided,) = facts.verdict.found
    assert (decided.verdict, decided.seconds) == ("change", 84600)
    (answer,) = facts.checkup.found
    assert (answer.topic, answer.verdict, answer.answer, answer.detail) == (
        "victim search",
        "consider",
        "Little.",
        None,
    )
    assert facts.sizes.found == made().facts.sizes.found[:1]
    (usage,) = facts.usage.found
    assert (usage.buffers, usage.buffers_low, usage.buffers_high) == (80, 75, 85)
    (victims,) = facts.victims.found
    assert (victims.inspected, victims.avg_us) == (2500, None)
    (gain,) = facts.gains.found
    assert (gain.reads_saved, gain.reads_saved_low, gain.reads_saved_high, gain.reads_added) == (5, 4, 6, 4)
    assert (gain.storage_reads_saved_low, gain.working_set_bytes_high, gain.read_fraction) == (None, 51 * MB, None)
    (pooled,) = facts.pool.found
    assert (pooled.bytes_low, pooled.bytes_high, pooled.stay_seconds) == (40 * MB, 40 * MB, None)
    (cached,) = facts.caches.found
    assert (cached.both_bytes_low, cached.both_bytes_high) == (2 * MB, 4 * MB)
    assert facts.status.rows is None


def test_a_page_of_earlier_facts(tmp_path):
    found = written(tmp_path / "earlier.json", earlier())
    assert "Take 96 MB instead of 192 MB" in page.render(found)
    assert page.about(found).startswith("PostgreSQL 15.18, running since")


# ---- lines of facts.sql ----


def lines(**replaced):
    """Returns what psql writes."""
    data = report()
    about = {"asked_at": data["taken_at"], "pool_sampled": 1, "files_sampled": 0.01}
    rows = {name: each["rows"] for name, each in data["facts"].items()} | replaced
    found = {"server": data["server"] | about} | rows
    return "".join(json.dumps({name: value}) + "\n" for name, value in found.items() if value != "lost")


def test_lines_of_psql_are_a_report(tmp_path):
    found = written(tmp_path / "shop.json", lines(hours="lost", predictions=None))
    whole = made()
    assert found.server == whole.server
    assert (found.taken_at, found.seconds, found.sampled.files) == (whole.taken_at, None, 0.01)
    assert found.facts.sizes.rows == whole.facts.sizes.rows
    assert found.facts.predictions.rows == []
    assert found.facts.hours.rows is None
    assert found.facts.hours.why.startswith("pgbufprobe_hours() is unknown: psql could not run the statement")
    assert "psql could not run the statement" in page.render(found)


@pytest.mark.parametrize(
    "text", ['{"server": {}}\n{"hours": null}\n', '{"server": 1}\n[]\n', '{"server": {}}\n[1]\n', lines()[:-9]]
)
def test_other_lines_are_no_report(tmp_path, text):
    with pytest.raises(GatherError, match="is not JSON"):
        written(tmp_path / "shop.json", text)
