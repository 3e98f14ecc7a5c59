"""Asks one server and returns plain data, which --json writes and the page shows.

All queries run in one read-only transaction and within SECONDS. What cannot be known has the reason instead of rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.sql import SQL, Composable, Identifier, Literal
from psycopg.types.json import set_json_loads

Fact = dict[str, Any]  # rows, or None and the reason in "unknown"; notes, seconds
Show = Callable[[str], None]

FORMAT = 1
SECONDS = 4.0  # of all queries together
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
class Query:
    """In its text, {x} is the schema of the extension. `call` names what it asks."""

    name: str
    call: str
    text: str


SERVER = """
SELECT version(), current_setting('server_version') AS server_version, e.extversion AS extension_version,
       d.datname AS database, d.oid::bigint AS database_oid, current_setting('cluster_name') AS cluster_name,
       (SELECT system_identifier::text FROM pg_control_system()) AS system_identifier,
       pg_is_in_recovery() AS standby, pg_postmaster_start_time() AS started_at,
       current_setting('block_size')::bigint AS block_bytes,
       (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') * current_setting('block_size')::bigint
           AS shared_buffers_bytes
FROM pg_extension AS e, pg_database AS d
WHERE e.extname = 'pgbufprobe' AND d.datname = current_database()"""

# An alias of a row that names a relation, {0}, to its label, its OID and that of its database.
NAMES = """{0}.relation::text AS relation, {0}.relation::oid::bigint AS oid, {0}.database, {0}.relfilenode::bigint,
       (SELECT d.oid::bigint FROM pg_database AS d WHERE d.datname = {0}.database) AS database_oid, {0}.fork"""

QUERIES = (
    Query(
        "checkup",
        "pgbufprobe_checkup()",
        "SELECT key, question, answer, value, unit, verdict, action, look_at FROM {x}.pgbufprobe_checkup()",
    ),
    Query("sizes", "pgbufprobe_advice()", "SELECT * FROM {x}.pgbufprobe_advice()"),
    Query(
        "sizes_added",
        "pgbufprobe_advice('added')",
        "SELECT size_factor, shared_buffers_bytes, estd_miss_ratio, estd_storage_ratio"
        " FROM {x}.pgbufprobe_advice('added'::text)",
    ),
    Query(
        "usage",
        "pgbufprobe_usagecount_histogram()",
        "SELECT * FROM {x}.pgbufprobe_usagecount_histogram(NULL::regclass, {pool})",
    ),
    Query(
        "history",
        "pgbufprobe_history()",
        f"""
        SELECT taken_at, seconds_per_pass, inspected_per_allocation, usagecounts, unused
        FROM (SELECT h.*, row_number() OVER (ORDER BY taken_at DESC) - 1 AS age, count(*) OVER () AS samples
              FROM {{x}}.pgbufprobe_history() AS h) AS h
        WHERE age % ((samples + {SAMPLES - 1}) / {SAMPLES}) = 0
        ORDER BY taken_at""",
    ),
    Query("victims", "pgbufprobe_sweep_cost()", "SELECT * FROM {x}.pgbufprobe_sweep_cost()"),
    Query("scans", "pgbufprobe_scan_cost()", "SELECT * FROM {x}.pgbufprobe_scan_cost(5, {pool})"),
    Query(
        "gains",
        "pgbufprobe_advice_relations()",
        f"""
        SELECT {NAMES.format("r")}, r.read_fraction, r.estd_loads, r.estd_reads_saved, r.estd_reads_saved_error,
               r.estd_reads_added, r.estd_reads_added_error, r.estd_storage_reads_saved,
               r.estd_storage_reads_saved_error, r.working_set_bytes, r.working_set_bytes_error, r.note
        FROM {{x}}.pgbufprobe_advice_relations() AS r
        ORDER BY r.estd_loads DESC NULLS LAST LIMIT {RELATIONS}""",
    ),
    Query("predictions", "pgbufprobe_predictions()", "SELECT * FROM {x}.pgbufprobe_predictions() LIMIT 10"),
    Query(
        "clock",
        "pgbufprobe_clock(), pgbufprobe_clock_rate()",
        """
        SELECT c.buffers, c.hand, c.passes, r.seconds, r.ticks_per_second, r.allocations_per_second,
               r.inspected_per_allocation, r.seconds_per_pass
        FROM {x}.pgbufprobe_clock() AS c, {x}.pgbufprobe_clock_rate('500 ms'::interval) AS r""",
    ),
    Query(
        "settings",
        "pg_settings",
        """
        SELECT name, current_setting(name) AS setting FROM pg_settings
        WHERE name LIKE 'pgbufprobe.%'
           OR name IN ('shared_buffers', 'huge_pages', 'shared_preload_libraries', 'track_io_timing', 'debug_io_direct',
                       'io_method', 'effective_cache_size', 'max_connections')
        ORDER BY name""",
    ),
    Query(
        "pool",
        "pgbufprobe_relations()",
        f"""
        SELECT {NAMES.format("r")}, r.bytes, r.usagecounts[1] * {{block}} AS idle_bytes,
               r.dirty * {{block}} AS dirty_bytes, r.usagecount_avg, r.buffers_error * {{block}} AS bytes_error
        FROM {{x}}.pgbufprobe_relations({{pool}}) AS r
        ORDER BY r.bytes DESC LIMIT {RELATIONS}""",
    ),
    # The row without a relation is the whole database.
    Query(
        "caches",
        "pgbufprobe_residency()",
        f"""
        WITH r AS MATERIALIZED (SELECT * FROM {{x}}.pgbufprobe_residency(NULL::regclass, {{files}})),
        total AS (
            SELECT sum(blocks) AS blocks, sum(shared_blocks) AS shared,
                   CASE WHEN bool_and(trustworthy) THEN sum(os_blocks) END AS os,
                   CASE WHEN bool_and(trustworthy) THEN sum(both_blocks) END AS twice,
                   sqrt(sum(both_blocks_error::float8 ^ 2)) AS error, bool_and(trustworthy) AS trustworthy
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
        SELECT relation::text, relation::oid::bigint, fork, bytes, shared_blocks * {{block}}, os_blocks * {{block}},
               both_bytes, both_blocks_error * {{block}}, trustworthy
        FROM largest
        WHERE coalesce(shared_blocks, 0) + coalesce(os_blocks, 0) > 0""",
    ),
)

MAP = Query(
    "maps",
    "pgbufprobe_residency_map()",
    f"""
    SELECT last_block - first_block + 1 AS blocks, shared_blocks, os_blocks, both_blocks
    FROM {{x}}.pgbufprobe_residency_map({{oid}}::oid::regclass, {CELLS}, 'main'::text) ORDER BY bucket""",
)


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
        set_json_loads(lambda text: json.loads(bytes(text).decode(errors="replace")), connection)
        for setting in (
            "search_path = pg_catalog",
            f"client_encoding = {encoding}",
            "jit = off",
            "lock_timeout = '1s'",
        ):
            connection.execute(f"SET LOCAL {setting}")

    def left(self) -> float:
        return SECONDS - (time.monotonic() - self.begun)

    def rows(self, text: str, **values: Composable) -> list[dict[str, Any]]:
        """Returns rows as JSON has them: times and names are text."""
        limit = max(1, int(1000 * self.left()))
        with self.connection.transaction():
            self.connection.execute(SQL("SET LOCAL statement_timeout = {}").format(Literal(limit)))
            query = SQL("SELECT row_to_json(t) FROM (") + SQL(text).format(**values) + SQL(") AS t")
            return [row[0] for row in self.connection.execute(query).fetchall()]

    def fact(self, query: Query, **values: Composable) -> Fact:
        """Returns the rows of a query, or the reason why there are none."""
        self.notes.clear()
        begun = time.monotonic()
        rows, unknown = None, None
        try:
            if self.left() <= 0:
                raise psycopg.errors.QueryCanceled
            rows = self.rows(query.text, **values)
        except psycopg.Error as error:
            if self.connection.broken:
                raise GatherError(f"lost the connection: {error}") from None
            if self.left() < 0.01:
                error = psycopg.Error(f"not within the {SECONDS:g} s that the queries of a report may take")
            unknown = ": ".join(t for t in (error.diag.message_primary, error.diag.message_hint) if t) or str(error)
        notes = list(dict.fromkeys(self.notes))[:3]
        taken = round(time.monotonic() - begun, 3)
        return {"call": query.call, "rows": rows, "unknown": unknown, "notes": notes, "seconds": taken}


def _fractions(session: Session, server: dict[str, Any]) -> dict[str, float]:
    """Returns the shares of the buffers and of the blocks of files to read."""
    pool = min(1.0, EXACT_POOL / server["shared_buffers_bytes"])
    size = session.fact(Query("", "", "SELECT pg_database_size(current_database()) AS bytes"))["rows"]
    # A sample of blocks pays only if it is small.
    return {"pool": pool, "files": 1.0 if size and size[0]["bytes"] <= EXACT_FILES else 0.01}


def _maps(session: Session, caches: Fact, values: dict[str, Composable], show: Show) -> Fact:
    """Returns the maps of the largest relations. One that is unknown does not spoil the others."""
    found = [row for row in caches["rows"] or [] if row["oid"] and row["fork"] == "main"]
    largest = sorted(found, key=lambda row: -(row["bytes"] or 0))[:MAPS]
    fact: Fact = {"call": MAP.call, "rows": [], "unknown": None, "notes": [], "seconds": 0.0}
    for row in largest:
        show(f"map of {row['relation']}")
        one = session.fact(MAP, oid=Literal(row["oid"]), **values)
        about = {key: row[key] for key in ("relation", "oid", "fork", "bytes")}
        fact["rows"].append(about | {"cells": one["rows"], "unknown": one["unknown"]})
        fact["seconds"] = round(fact["seconds"] + one["seconds"], 3)
    return fact


def _gather(connection: psycopg.Connection, show: Show) -> dict[str, Any]:
    with connection.transaction():
        session = Session(connection)
        about = session.rows(SERVER)
        if not about:
            raise GatherError(
                f'extension "pgbufprobe" is not in database "{connection.info.dbname}"; '
                "run CREATE EXTENSION pgbufprobe there, or name another database"
            )
        server = about[0]
        schema = "SELECT nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace"
        schema = session.rows(f"{schema} WHERE extname = 'pgbufprobe'")[0]["nspname"]
        fractions = _fractions(session, server)
        values = {"x": Identifier(schema), "block": Literal(server["block_bytes"])}
        values |= {name: SQL(f"{fraction}::float8") for name, fraction in fractions.items()}
        taken_at = datetime.now(UTC).isoformat(timespec="seconds")
        facts = {}
        for query in QUERIES:
            show(query.call)
            facts[query.name] = session.fact(query, **values)
        facts["maps"] = _maps(session, facts["caches"], values, show)
        return {
            "pgbufprobe_report": FORMAT,
            "redacted": False,
            "taken_at": taken_at,
            "seconds": round(time.monotonic() - session.begun, 3),
            "sampled": fractions,
            "server": server,
            "facts": facts,
        }


def gather(dsn: str, show: Show = lambda text: None) -> dict[str, Any]:
    """Asks the server of a connection string. `show` is told what comes next."""
    show("connecting")
    try:
        connection = psycopg.connect(dsn, fallback_application_name="pgbufprobe report")
    except psycopg.Error as error:
        raise GatherError(str(error).strip()) from None
    with connection:
        connection.read_only = True
        try:
            return _gather(connection, show)
        except psycopg.Error as error:
            raise GatherError(str(error).strip()) from None
