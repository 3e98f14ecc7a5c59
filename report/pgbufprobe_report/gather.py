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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier, Literal
from psycopg.types.json import set_json_loads

from pgbufprobe_report.dsn import understood
from pgbufprobe_report.facts import FORMAT, Fact, Facts, GatherError, Report, Sampled, Server, Time, parsed
from pgbufprobe_report.queries import KINDS, QUERIES, SERVER, VARIABLES, Statement

Show = Callable[[str], None]

CONNECT_SECONDS = 5  # unless the connection string says otherwise
SECONDS = 4.0  # of all queries together
SPARE_SECONDS = 4.0  # after which a server that cancels no query is left


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

    def value(self, statement: Statement, values: Mapping[str, str]) -> Any:
        """Returns the JSON of a statement, in which times and names are text."""
        limit = max(1, int(1000 * self.left()))
        with self.connection.transaction():
            self.connection.execute(SQL("SET LOCAL statement_timeout = {}").format(Literal(limit)))
            row = self.connection.execute(statement.filled(values).encode()).fetchone()
        return row[0] if row else None

    def fact(self, name: str, statement: Statement, values: Mapping[str, str]) -> Fact[Any]:
        """Returns the rows of a fact, or the reason why there are none."""
        self.notes.clear()
        rows, unknown, sqlstate = None, None, None
        try:
            if self.left() <= 0:
                raise psycopg.errors.QueryCanceled
            found = self.value(statement, values)[name] or []
            rows = [parsed(KINDS[name], row) for row in found]
        except psycopg.Error as error:
            if self.connection.broken:
                raise GatherError(f"lost the connection: {error}") from None
            sqlstate = error.sqlstate
            unknown = ": ".join(t for t in (error.diag.message_primary, error.diag.message_hint) if t) or str(error)
            if self.left() < 0.01:
                unknown = f"not within the {SECONDS:g} s that the queries of a report may take"
        except ValueError as error:  # rows that no page can show
            unknown = str(error)
        return Fact(statement.call, rows, unknown, list(dict.fromkeys(self.notes))[:3], sqlstate)


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
        variables = session.value(VARIABLES, {})
        if variables is None:
            raise GatherError(
                f'extension "pgbufprobe" is not in database "{connection.info.dbname}"; '
                "run CREATE EXTENSION pgbufprobe there, or name another database"
            )
        values = {name: str(value) for name, value in variables.items()}
        values["x"] = Identifier(variables["x"]).as_string(connection)
        about = session.value(SERVER, values)["server"]
        server: Server = parsed(Server, about)
        found: dict[str, Any] = {}
        for name, query in QUERIES.items():
            show(query.call)
            found[name] = session.fact(name, query, values)
        seconds = round(time.monotonic() - session.begun, 3)
        sampled = Sampled(float(about["pool_sampled"]), float(about["files_sampled"]))
        server = replace(server, host=_host(connection, server))
        return Report(FORMAT, False, Time(about["asked_at"]), seconds, sampled, server, Facts(**found))


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
