"""Replaces names of relations and databases by their OIDs, which are the same in two reports about one server."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any, TypeVar

from pgbufprobe_report.facts import AnyFork, Fact, Facts, Fork, Report, Server

R = TypeVar("R")

# A message may name what it likes. Of errors with these SQLSTATEs, readers learn the reason in other words.
REASONS = {
    "25006": "it cannot run in a read-only transaction",
    "42501": "permission was denied",
    "55000": "the server is not configured for it",
    "55P03": "a lock was not available in time",
    "57014": "it was canceled, or took too long",
}


def _text(value: str) -> str:
    """Answers of the extension quote names, which may contain quotes themselves."""
    return re.sub(r'".*"', '"..."', value, flags=re.DOTALL)


def _reason(sqlstate: str | None) -> str:
    return f"{REASONS.get(sqlstate or '', 'the server reported an error')} (SQLSTATE {sqlstate or 'not known'})"


def _row(row: R) -> R:
    found: dict[str, Any] = vars(row)
    new = {key: _text(found[key]) for key in ("note", "answer", "action", "detail") if found.get(key)}
    if isinstance(row, Fork) and row.relation is not None:
        new["relation"] = f"relation {row.oid}"
    if isinstance(row, AnyFork | Server) and row.database is not None:
        new["database"] = f"database {row.database_oid}"
    new |= {key: "withheld" for key in ("cluster_name", "host") if found.get(key)}
    if found.get("unknown"):
        new["unknown"] = _reason(found["sqlstate"])
    return replace(row, **new)  # type: ignore[type-var]


def _fact(fact: Fact[R]) -> Fact[R]:
    rows = None if fact.rows is None else [_row(row) for row in fact.rows]
    return replace(_row(fact), rows=rows, notes=["a message, which is withheld"] if fact.notes else [])


def redact(report: Report) -> Report:
    """Returns the same facts without names."""
    facts = {field.name: _fact(getattr(report.facts, field.name)) for field in fields(Facts)}
    return replace(report, redacted=True, server=_row(report.server), facts=Facts(**facts))
