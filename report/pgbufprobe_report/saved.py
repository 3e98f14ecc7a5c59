"""Reads files of facts: what --json writes, what earlier versions have written, and the lines of facts.sql."""

from __future__ import annotations

import json
import os
from typing import Any

from pgbufprobe_report import earlier
from pgbufprobe_report.facts import FORMAT, GatherError, Report, parsed
from pgbufprobe_report.queries import QUERIES

FAILED = "psql could not run the statement, and has written the reason to its standard error output"


def report_of(found: dict[str, Any]) -> dict[str, Any]:
    """Returns a report, as --json writes it, of facts by name."""
    server = found["server"]
    facts = {
        name: {
            "call": query.call,
            "rows": (found[name] or []) if name in found else None,
            "unknown": None if name in found else FAILED,
            "notes": [],
        }
        for name, query in QUERIES.items()
    }
    sampled = {"pool": server["pool_sampled"], "files": server["files_sampled"]}
    about = {"pgbufprobe_report": FORMAT, "redacted": False, "taken_at": server["asked_at"], "seconds": None}
    return about | {"sampled": sampled, "server": server, "facts": facts}


def _lines(text: str) -> Any:
    """Returns the report of lines that have one fact each. Raises ValueError if there are others."""
    found: dict[str, Any] = {}
    for line in filter(None, text.splitlines()):
        found |= dict(json.loads(line))
    return report_of(found)


def _data(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        if not text.startswith('{"server"'):
            raise
    try:
        return _lines(text)
    except (KeyError, TypeError):
        raise ValueError from None


def load(path: str) -> Report:
    """Reads a file of facts."""
    if os.path.exists(path) and not os.path.isfile(path):  # to open a named pipe would wait for its writer
        raise GatherError(f"{path} is not a file")
    try:
        with open(path, encoding="utf-8") as file:
            data = _data(file.read())
    except OSError as error:
        raise GatherError(f"could not read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise GatherError(f"{path} is not JSON") from None
    version = data.get("pgbufprobe_report") if isinstance(data, dict) else None
    if version not in (FORMAT, earlier.FORMAT):
        raise GatherError(f"{path} is not a report of format {FORMAT}, as report/run --json writes it")
    try:
        report: Report = parsed(Report, earlier.modern(data) if version == earlier.FORMAT else data)
    except ValueError as error:
        raise GatherError(f"{path} is not a report of format {FORMAT}: {error}") from None
    return report
