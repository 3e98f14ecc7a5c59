"""Options of the tests, and a server and a browser for those that need one."""

import shutil

import pytest
from artificial import HOSTILE
from playwright.sync_api import sync_playwright
from psycopg.sql import SQL, Identifier

from pgbufprobe_lab.measure import cgroup
from pgbufprobe_lab.measure.errors import LabError
from pgbufprobe_lab.measure.installation import Installation
from pgbufprobe_lab.measure.server import Cluster

SCHEMA = '"<x> {x} %s ""quoted"""'


def pytest_addoption(parser):
    parser.addoption("--pg", type=int, help="major version of the server (default: the installed one)")


def prepare(server):
    """Makes databases with hostile names, the extension in a schema of such a name, and a role with pg_monitor."""
    with server.connect("postgres") as connection:
        connection.execute("CREATE ROLE monitor LOGIN IN ROLE pg_monitor")
        connection.execute("CREATE DATABASE shop")
        connection.execute("CREATE DATABASE plain")
        connection.execute("CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0")
    for database in ("shop", "bytes"):
        with server.connect(database) as connection:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
            connection.execute(f"CREATE EXTENSION pgbufprobe SCHEMA {SCHEMA}")
            connection.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO pg_monitor")
    with server.connect("shop") as connection:
        for name in HOSTILE:
            rows = SQL("CREATE TABLE {} AS SELECT i, repeat('x', 500) AS filler FROM generate_series(1, 9000) AS i")
            connection.execute(rows.format(Identifier(name)))
        connection.execute("CREATE SEQUENCE written")
    with server.connect("bytes") as connection:
        connection.execute(b'CREATE TABLE "caf\xe9" AS SELECT generate_series(1, 99999) AS i')


@pytest.fixture(scope="session")
def cluster(request):
    """A data directory, and the programs of a server with the extension."""
    try:
        installation = Installation(request.config.getoption("--pg"))
    except LabError as error:
        pytest.skip(str(error))
    made = Cluster(installation, cgroup.Cgroups(None, 1), installation.work / "data")
    made.make()
    with made.server(16 * 1024**2) as server:
        prepare(server)
    yield made
    installation.close()


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()
