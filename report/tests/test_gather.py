"""What a real server answers: to a role with only pg_monitor, read-only, in time, with the sampler and without."""

import json
import os
import platform
import re
import shutil
import subprocess
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import psycopg
import pytest
from artificial import EVIL, HOSTILE, MAKERS, WIDE, report
from psycopg.sql import SQL, Identifier

from pgbufprobe_report import gather as gathering
from pgbufprobe_report import page
from pgbufprobe_report.facts import GatherError, Report, parsed
from pgbufprobe_report.fleetcli import main as fleet_main
from pgbufprobe_report.gather import gather
from pgbufprobe_report.queries import FILE, Statement
from pgbufprobe_report.redact import redact
from pgbufprobe_report.saved import load

MB = 1024**2


def use(server, times=1):
    """Reads the tables with hostile names."""
    with server.connect("shop") as connection:
        for _ in range(times):
            for name in HOSTILE:
                connection.execute(SQL("SELECT sum(length(filler)) FROM {}").format(Identifier(name)))
            connection.execute("SELECT pg_sleep(0.1)")


@pytest.fixture(scope="module")
def idle(cluster):
    """A server without the sampler."""
    with cluster.server(16 * MB) as server:
        use(server)
        with server.connect("bytes") as connection:
            connection.execute(b'SELECT count(*) FROM "caf\xe9"')
        yield server


def dsn(server, database="shop", user="monitor"):
    return f"host={server.installation.socket_dir} port={server.installation.port} user={user} dbname={database}"


def gather_in_time(*arguments):
    """Gathers again where the server was kept from answering all in time."""
    for _ in range(5):
        data = gather(*arguments)
        if "not within" not in json.dumps(asdict(data)):
            break
    return data


def unknown(report):
    return {name for name, fact in vars(report.facts).items() if fact.unknown}


def check_identities(report):
    """Facts about the same thing from different functions agree."""
    facts = report.facts
    assert sum(row.buffers for row in facts.usage.found) * 8192 == report.server.shared_buffers_bytes == 16 * MB
    assert facts.checkup.found[0].topic == "size"
    (decided,) = facts.verdict.found
    assert decided.today_bytes == 16 * MB
    assert (decided.advised_bytes is None) == (decided.verdict == "unknown")
    maps = {row.relation: row.cells for row in facts.maps.found}
    for name in (EVIL, WIDE):
        (row,) = [r for r in facts.caches.found if r.relation == name and r.fork == "main"]
        assert sum(cell.blocks for cell in maps[name]) * 8192 == row.bytes
        assert sum(cell.shared_blocks for cell in maps[name]) * 8192 == row.shared_bytes
        assert {r.fork for r in facts.pool.found if r.relation == name} >= {"main"}


def check_shape(found):
    """The artificial facts, which the other tests use, have the columns of the real ones."""
    data = asdict(found)
    for name, make in MAKERS.items():
        rows = data["facts"][name]["rows"]
        if rows:
            assert rows[0].keys() == next(iter(make())).keys(), name
    assert data.keys() == report().keys()
    assert data["server"].keys() == report()["server"].keys()
    assert parsed(Report, json.loads(json.dumps(data))) == found


def test_the_sampler_adds_sizes_and_history(cluster):
    with cluster.server(
        16 * MB, {"shared_preload_libraries": "pgbufprobe", "pgbufprobe.history_interval": "1s"}
    ) as server:
        for _ in range(5):
            use(server, 40)
            data = gather_in_time(dsn(server))
            if not unknown(data) and len(data.facts.history.found) > 1:
                break  # the sampler may have been kept from taking samples
        assert unknown(data) == set()
        assert len(data.facts.history.found) > 1
        assert [row.size_factor for row in data.facts.sizes.found][:2] == [0.25, 0.5]
        check_identities(data)
        check_shape(data)


def test_without_the_sampler_the_rest_is_known(idle):
    shown = []
    data = gather_in_time(dsn(idle), shown.append)
    assert unknown(data) == {"history", "hours", "predictions"}
    assert "no sampler is running" in data.facts.history.unknown
    assert "no sampler is running" in data.facts.sizes.found[0].note
    assert "pgbufprobe_checkup()" in shown
    check_identities(data)
    check_shape(data)
    text = page.render(data)
    assert "<img" not in text
    assert "名" not in page.render(redact(data))
    assert "quoted" not in json.dumps(asdict(redact(data)))


def test_a_fleet_of_servers_that_answer_and_one_that_does_not(idle, tmp_path, capsys):
    databases = ("shop", "plain", "nowhere", "bytes")
    (tmp_path / "servers").write_text("".join(f"{dsn(idle, name)}\n" for name in databases))
    assert fleet_main([str(tmp_path / "pages"), str(tmp_path / "servers")]) == 0
    error = capsys.readouterr().err
    assert 'plain: extension "pgbufprobe" is not in database "plain"' in error
    assert 'database "nowhere" does not exist' in error
    written = {path.name.split("-")[-1] for path in (tmp_path / "pages").iterdir()}
    assert written == {"index.html", "shop.html", "bytes.html"}
    text = (tmp_path / "pages" / "index.html").read_text()
    assert text.count("<tr data-verdict=") == 4
    assert platform.node() in next((tmp_path / "pages").glob("*shop.html")).read_text()


def test_nothing_can_be_written(idle, monkeypatch):
    writing = Statement("SELECT nextval('public.written')", "nextval()")
    monkeypatch.setitem(gathering.QUERIES, "settings", writing)
    data = gather_in_time(dsn(idle, user="postgres"))
    assert data.facts.settings.unknown == "cannot execute nextval() in a read-only transaction"
    with idle.connect("shop") as connection:
        assert connection.execute("SELECT is_called FROM written").fetchone() == (False,)


def test_rows_that_no_page_can_show_are_unknown(idle, monkeypatch):
    for odd in ("'NaN'::float8", "'Infinity'::float8", "1e30::numeric", "'word'::text"):
        row = f"jsonb_build_array(jsonb_build_object('consumer', 'x', 'today_bytes', {odd}))"
        statement = Statement(f"SELECT jsonb_build_object('consumers', {row})", "x()")
        monkeypatch.setitem(gathering.QUERIES, "consumers", statement)
        data = gather_in_time(dsn(idle))
        assert data.facts.consumers.unknown == "it.today_bytes is not of type int, or out of range"
        assert data.facts.usage.found


def test_psql_writes_the_same_facts(idle, tmp_path):
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed")

    def psql(database):
        command = ["psql", "-X", "-d", dsn(idle, database), "-f", str(FILE)]
        return subprocess.run(command, env=os.environ | {"PGCLIENTENCODING": "LATIN1"}, capture_output=True)

    done = psql("shop")
    (tmp_path / "shop.json").write_bytes(done.stdout)
    found, data = load(str(tmp_path / "shop.json")), gather_in_time(dsn(idle))
    assert unknown(found) == unknown(data) == {"history", "hours", "predictions"}
    assert b"no sampler is running" in done.stderr
    check_identities(found)
    assert {row.relation for row in found.facts.maps.found} >= {EVIL, WIDE}
    assert found.server == replace(data.server, host=None)
    absent = psql("plain")
    assert (absent.stdout, b"is not in this database" in absent.stderr) == (b"", True)


def test_a_report_takes_no_longer_than_it_may(idle, monkeypatch):
    monkeypatch.setattr(gathering, "SECONDS", 0.3)
    for _ in range(5):
        with suppress(GatherError):  # also what no report can do without may be late
            data = gather(dsn(idle))
            break
    assert "checkup" in unknown(data)
    assert "not within" in data.facts.checkup.unknown


def test_names_need_not_be_utf8(idle):
    data = gather_in_time(dsn(idle, "bytes"))
    assert 'public."caf�"' in {row.relation for row in data.facts.caches.found}


def test_what_is_missing_is_named(idle):
    with pytest.raises(GatherError, match='not in database "plain"'):
        gather(dsn(idle, "plain"))
    with pytest.raises(GatherError, match="nowhere"):
        gather(dsn(idle, "nowhere"))
    with idle.connect("shop") as connection:
        connection.execute("CREATE ROLE stranger LOGIN")
    data = gather_in_time(dsn(idle, user="stranger"))
    assert "permission denied" in data.facts.checkup.unknown
    assert "permission denied" in page.render(data)
    hidden = redact(data)
    assert hidden.facts.checkup.unknown == "permission was denied (SQLSTATE 42501)"
    assert "<x>" in json.dumps(asdict(data))
    assert "<x>" not in json.dumps(asdict(hidden))


DECOYS = Path(__file__).resolve().parents[2] / "t" / "perl" / "decoys.sql"
# Functions with defaults could be hidden, or made ambiguous, by these in the extension's own schema.
OVERLOADS = ("advice(text)", "sweep_cost(int)", "scan_cost(int)", "relations()", "residency(regclass)", "clock()")


def test_nothing_that_others_created_is_run(idle):
    with idle.connect("postgres") as connection:
        connection.execute("CREATE ROLE landlord")
        connection.execute("CREATE DATABASE trap OWNER landlord")
    with idle.connect("trap") as connection:
        connection.execute("CREATE SCHEMA probes")
        connection.execute("CREATE EXTENSION pgbufprobe SCHEMA probes")
        connection.execute("GRANT USAGE ON SCHEMA probes TO pg_monitor")
        connection.execute("GRANT CREATE ON SCHEMA probes TO landlord")
        connection.execute("SET ROLE landlord")
        words = set(re.findall(r"\b([a-z_]+)\(", FILE.read_text()))
        connection.execute(SQL("SET decoys.words = {}").format(" ".join(sorted(words))))
        connection.execute(DECOYS.read_text())
        for function in OVERLOADS:
            connection.execute(
                f"CREATE FUNCTION probes.pgbufprobe_{function} RETURNS int LANGUAGE plpgsql "
                "AS 'BEGIN RAISE EXCEPTION ''caught''; END'"
            )
        connection.execute("ALTER DATABASE trap SET search_path = public, pg_catalog")
    data = gather_in_time(dsn(idle, "trap"))
    assert unknown(data) == {"history", "hours", "predictions"}
    assert "caught" not in json.dumps(asdict(data))
    with idle.connect("trap") as connection, pytest.raises(psycopg.Error, match="caught"):
        connection.execute("SELECT 1::bigint * 1::bigint")
