"""Asks one server for the facts of a report.

All queries run in one read-only transaction and within SECONDS. What cannot be known has the reason instead of rows.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import psycopg
from psycopg.sql import SQL, Composable, Identifier, Literal
from psycopg.types.json import set_json_loads

from pgbufprobe_report import facts
from pgbufprobe_report.dsn import understood
from pgbufprobe_report.facts import Fact, Facts, Map, Report, Sampled, Server, Time, columns, parsed

R = TypeVar("R")
Show = Callable[[str], None]

FORMAT = 1
CONNECT_SECONDS = 5  # unless the connection string says otherwise
SECONDS = 4.0  # of all queries together
SPARE_SECONDS = 4.0  # after which a server that cancels no query is left
RELATIONS = 20
MAPS = 8
CELLS = 96  # of a map
SAMPLES = 120  # of the history
GB = 1024**3
EXACT_POOL = 64 * GB  # larger pools and databases are sampled
EXACT_FILES = 64 * GB


class GatherError(Exception):
    """There is nothing to report."""


@dataclass(frozen=True)
class Query(Generic[R]):
    """Rows of a type. In the text, {x} is the schema of the extension. `call` names what it asks."""

    kind: type[R]
    call: str
    text: str


@dataclass(frozen=True)
class Extension:
    schema: str


@dataclass(frozen=True)
class Bytes:
    bytes: int


EXTENSION = """
SELECT n.nspname AS schema FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'pgbufprobe'"""

SERVER = """
SELECT version(), current_setting('server_version') AS server_version, e.extversion AS extension_version,
       d.datname AS database, d.oid::bigint AS database_oid, current_setting('cluster_name') AS cluster_name,
       (SELECT system_identifier::text FROM pg_control_system()) AS system_identifier,
       pg_is_in_recovery() AS standby, pg_postmaster_start_time() AS started_at,
       current_setting('block_size')::bigint AS block_bytes,
       (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') * current_setting('block_size')::bigint
           AS shared_buffers_bytes, host(inet_server_addr()) AS host
FROM pg_extension AS e, pg_database AS d
WHERE e.extname = 'pgbufprobe' AND d.datname = current_database()"""

# An alias of a row that names a relation, {0}, to its label, its OID and that of its database.
NAMES = """{0}.relation::text AS relation, {0}.relation::oid::bigint AS oid, {0}.database, {0}.relfilenode::bigint,
       (SELECT d.oid::bigint FROM pg_database AS d WHERE d.datname = {0}.database) AS database_oid, {0}.fork"""


def function(kind: type[R], name: str, arguments: str = "") -> Query[R]:
    """Returns a query for a function whose columns are those of the rows."""
    return Query(kind, f"{name}()", f"SELECT {columns(kind)} FROM {{x}}.{name}({arguments})")


QUERIES: dict[str, Query[Any]] = {
    "verdict": function(facts.Verdict, "pgbufprobe_verdict"),
    "checkup": function(facts.Answer, "pgbufprobe_checkup"),
    "hours": function(facts.Hour, "pgbufprobe_hours"),
    "sizes": function(facts.Size, "pgbufprobe_advice", "'fixed'::text"),
    "sizes_added": function(facts.AddedSize, "pgbufprobe_advice", "'added'::text"),
    "memory": function(facts.Memory, "pgbufprobe_memory", "'today'::text"),
    "usage": function(facts.Usage, "pgbufprobe_usagecount_histogram", "NULL::regclass, {pool}"),
    "history": Query(
        facts.Moment,
        "pgbufprobe_history()",
        f"""
        SELECT taken_at, seconds_per_pass, usagecounts, unused
        FROM (SELECT h.*, row_number() OVER (ORDER BY taken_at DESC) - 1 AS age, count(*) OVER () AS samples
              FROM {{x}}.pgbufprobe_history() AS h) AS h
        WHERE age % ((samples + {SAMPLES - 1}) / {SAMPLES}) = 0
        ORDER BY taken_at""",
    ),
    "victims": function(facts.Victims, "pgbufprobe_sweep_cost", "1000, NULL::text"),
    "scans": function(facts.Scan, "pgbufprobe_scan_cost", "5, {pool}"),
    "gains": Query(
        facts.Gain,
        "pgbufprobe_advice_relations()",
        f"""
        SELECT {NAMES.format("r")}, r.estd_loads, r.estd_reads_saved, r.estd_reads_saved_error, r.estd_reads_added,
               r.estd_reads_added_error, r.estd_storage_reads_saved, r.estd_storage_reads_saved_error,
               r.working_set_bytes, r.working_set_bytes_error, r.note
        FROM {{x}}.pgbufprobe_advice_relations() AS r
        ORDER BY r.estd_loads DESC NULLS LAST LIMIT {RELATIONS}""",
    ),
    "predictions": function(facts.Prediction, "pgbufprobe_predictions"),
    "clock": Query(
        facts.Clock,
        "pgbufprobe_clock()",
        """
        SELECT c.buffers, c.hand, c.passes, c.seconds, c.allocations_per_second, c.inspected_per_allocation,
               c.seconds_per_pass
        FROM {x}.pgbufprobe_clock('500 ms'::interval) AS c""",
    ),
    "consumers": function(facts.Consumer, "pgbufprobe_memory_plan"),
    "settings": Query(
        facts.Setting,
        "pg_settings",
        """
        SELECT name, current_setting(name) AS setting FROM pg_settings
        WHERE name LIKE 'pgbufprobe.%'
           OR name IN ('shared_buffers', 'huge_pages', 'shared_preload_libraries', 'track_io_timing', 'debug_io_direct',
                       'io_method', 'effective_cache_size', 'max_connections')
        ORDER BY name""",
    ),
    "pool": Query(
        facts.Pooled,
        "pgbufprobe_relations()",
        f"""
        SELECT {NAMES.format("r")}, r.bytes, r.usagecounts[1] * {{block}} AS idle_bytes,
               r.dirty * {{block}} AS dirty_bytes, r.usagecount_avg, r.buffers_error * {{block}} AS bytes_error
        FROM {{x}}.pgbufprobe_relations({{pool}}) AS r
        ORDER BY r.bytes DESC LIMIT {RELATIONS}""",
    ),
    # The row without a relation is the whole database.
    "caches": Query(
        facts.Cached,
        "pgbufprobe_residency()",
        f"""
        WITH r AS MATERIALIZED (SELECT * FROM {{x}}.pgbufprobe_residency(NULL::regclass, {{files}})),
        total AS (
            SELECT sum(blocks) AS blocks, sum(shared_blocks) AS shared,
                   CASE WHEN bool_and(trustworthy) THEN sum(os_blocks) END AS os,
                   CASE WHEN bool_and(trustworthy) THEN sum(both_blocks) END AS twice,
                   sqrt(sum(blocks_error::float8 ^ 2)) AS error, bool_and(trustworthy) AS trustworthy
            FROM r),
        largest AS (
            SELECT * FROM r
            ORDER BY coalesce(shared_blocks, 0) + coalesce(os_blocks, 0) - coalesce(both_blocks, 0) DESC
            LIMIT {RELATIONS})
        SELECT NULL AS relation, NULL::bigint AS oid, NULL AS fork, blocks::bigint * {{block}} AS bytes,
               shared::bigint * {{block}} AS shared_bytes, os::bigint * {{block}} AS os_bytes,
               twice::bigint * {{block}} AS both_bytes, error * {{block}} AS both_bytes_error, trustworthy
        FROM total
        UNION ALL
        SELECT relation::text, relation::oid::bigint, fork, blocks * {{block}}, shared_blocks * {{block}},
               os_blocks * {{block}}, both_blocks * {{block}}, blocks_error * {{block}}, trustworthy
        FROM largest
        WHERE coalesce(shared_blocks, 0) + coalesce(os_blocks, 0) > 0""",
    ),
}

MAP = Query(
    facts.Cell,
    "pgbufprobe_residency_map()",
    f"""
    SELECT last_block - first_block + 1 AS blocks, shared_blocks, os_blocks, both_blocks
    FROM {{x}}.pgbufprobe_residency_map({{oid}}::oid::regclass, {CELLS}, 'main'::text) ORDER BY bucket""",
)


def _json(text: str | bytes) -> Any:
    return json.loads(text if isinstance(text, str) else bytes(text).decode(errors="replace"))


class Session:
    """A connection within a read-only transaction, and the time that is left."""

    def __init__(self, connection: psycopg.Connection):
        self.connection = connection
        self.begun = time.monotonic()
        self.notes: list[str] = []
        connection.add_notice_handler(lambda notice: self.notes.append(notice.message_primary or ""))
        # A name in a database without an encoding need not be UTF-8, and the server refuses to send it as UTF-8.
        server_encoding = connection.info.parameter_status("server_encoding")
        encoding = "SQL_ASCII" if server_encoding == "SQL_ASCII" else "UTF8"
        set_json_loads(_json, connection)
        for setting in (
            "search_path = ''",
            f"client_encoding = {encoding}",
            "jit = off",
            "lock_timeout = '1s'",
        ):
            connection.execute(f"SET LOCAL {setting}")

    def left(self) -> float:
        return SECONDS - (time.monotonic() - self.begun)

    def rows(self, kind: type[R], text: str, **values: Composable) -> list[R]:
        """Returns rows, in which times and names are text."""
        limit = max(1, int(1000 * self.left()))
        with self.connection.transaction():
            self.connection.execute(SQL("SET LOCAL statement_timeout = {}").format(Literal(limit)))
            query = SQL("SELECT row_to_json(t) FROM (") + SQL(text).format(**values) + SQL(") AS t")
            return [parsed(kind, row[0]) for row in self.connection.execute(query).fetchall()]

    def fact(self, query: Query[R], **values: Composable) -> Fact[R]:
        """Returns the rows of a query, or the reason why there are none."""
        self.notes.clear()
        begun = time.monotonic()
        rows, unknown, sqlstate = None, None, None
        try:
            if self.left() <= 0:
                raise psycopg.errors.QueryCanceled
            rows = self.rows(query.kind, query.text, **values)
        except psycopg.Error as error:
            if self.connection.broken:
                raise GatherError(f"lost the connection: {error}") from None
            sqlstate = error.sqlstate
            unknown = ": ".join(t for t in (error.diag.message_primary, error.diag.message_hint) if t) or str(error)
            if self.left() < 0.01:
                unknown = f"not within the {SECONDS:g} s that the queries of a report may take"
        except ValueError as error:  # rows that no page can show
            unknown = str(error)
        taken = round(time.monotonic() - begun, 3)
        return Fact(query.call, rows, unknown, list(dict.fromkeys(self.notes))[:3], taken, sqlstate)


def _sampled(session: Session, server: Server) -> Sampled:
    """Returns the shares of the buffers and of the blocks of files to read."""
    size = session.fact(Query(Bytes, "", "SELECT pg_database_size(current_database()) AS bytes")).found
    # A sample of blocks pays only if it is small.
    files = 1.0 if size and size[0].bytes <= EXACT_FILES else 0.01
    return Sampled(min(1.0, EXACT_POOL / server.shared_buffers_bytes), files)


def _maps(session: Session, caches: Fact[facts.Cached], values: dict[str, Composable], show: Show) -> Fact[Map]:
    """Returns the maps of the largest relations. One that is unknown does not spoil the others."""
    found = [row for row in caches.found if row.oid and row.fork == "main"]
    rows, seconds = [], 0.0
    for row in sorted(found, key=lambda row: -row.bytes)[:MAPS]:
        show(f"map of {row.relation}")
        one = session.fact(MAP, oid=Literal(row.oid), **values)
        rows.append(Map(row.relation, row.oid, row.fork, row.bytes, one.rows, one.unknown, one.sqlstate))
        seconds += one.seconds
    return Fact(MAP.call, rows, None, [], round(seconds, 3))


def _host(connection: psycopg.Connection, server: Server) -> str | None:
    """Returns the name by which the server was found; by a socket, that of this machine."""
    name = connection.info.host
    return platform.node() if name.startswith(("/", "@")) else name or server.host


@contextmanager
def _limited(connection: psycopg.Connection, seconds: float) -> Iterator[threading.Event]:
    """Cuts the connection after a time, and sets the event. A server that hangs cancels no statement."""
    cut = threading.Event()

    def end() -> None:
        cut.set()
        with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as copy:
            copy.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield cut
    finally:
        timer.cancel()


def _gather(connection: psycopg.Connection, show: Show) -> Report:
    with connection.transaction():
        session = Session(connection)
        extensions = session.rows(Extension, EXTENSION)
        if not extensions:
            raise GatherError(
                f'extension "pgbufprobe" is not in database "{connection.info.dbname}"; '
                "run CREATE EXTENSION pgbufprobe there, or name another database"
            )
        (server,) = session.rows(Server, SERVER)
        server = replace(server, host=_host(connection, server))
        sampled = _sampled(session, server)
        values = {"x": Identifier(extensions[0].schema), "block": Literal(server.block_bytes)}
        values |= {name: SQL(f"{fraction}::float8") for name, fraction in vars(sampled).items()}
        taken_at = Time(datetime.now(UTC).isoformat(timespec="seconds"))
        found: dict[str, Any] = {}
        for name, query in QUERIES.items():
            show(query.call)
            found[name] = session.fact(query, **values)
        found["maps"] = _maps(session, found["caches"], values, show)
        seconds = round(time.monotonic() - session.begun, 3)
        return Report(FORMAT, False, taken_at, seconds, sampled, server, Facts(**found))


def _patience(given: str | None) -> int:
    """Returns the seconds that a connection may take."""
    try:
        return int(float(given)) if given else CONNECT_SECONDS
    except (ValueError, OverflowError):
        raise GatherError("connect_timeout is not a number of seconds") from None


def gather(dsn: str, show: Show = lambda text: None) -> Report:
    """Asks the server of a connection string. `show` is told what comes next."""
    show("connecting")
    try:
        wait = _patience(understood(dsn).get("connect_timeout") or os.environ.get("PGCONNECT_TIMEOUT"))
        connection = psycopg.connect(dsn, fallback_application_name="pgbufprobe report", connect_timeout=wait)
    except (psycopg.Error, ValueError, OverflowError) as error:
        raise GatherError(str(error).strip()) from None
    with _limited(connection, SECONDS + SPARE_SECONDS) as cut, connection:
        connection.read_only = True
        try:
            return _gather(connection, show)
        except (psycopg.Error, GatherError, ArithmeticError, ValueError) as error:
            late = f"the server did not answer within {SECONDS + SPARE_SECONDS:g} s"
            raise GatherError(late if cut.is_set() else str(error).strip()) from None
