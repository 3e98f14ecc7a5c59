"""Replaces names of relations and databases by their OIDs, which are the same in two reports about one server."""

from __future__ import annotations

import re
from typing import Any

LABELS = ("relation", "database")


def _text(value: str) -> str:
    """Messages quote names, which may contain quotes themselves."""
    return re.sub(r'".*"', '"..."', value, flags=re.DOTALL)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    oids = {"relation": row.get("oid"), "database": row.get("database_oid")}
    names = {name: f"{name} {oids[name]}" for name in LABELS if row.get(name) is not None}
    texts = {key: _text(row[key]) for key in ("note", "unknown", "answer", "action") if isinstance(row.get(key), str)}
    return row | names | texts


def _fact(fact: dict[str, Any]) -> dict[str, Any]:
    return fact | {
        "rows": fact["rows"] and [_row(row) for row in fact["rows"]],
        "unknown": fact["unknown"] and _text(fact["unknown"]),
        "notes": [_text(note) for note in fact["notes"]],
    }


def redact(data: dict[str, Any]) -> dict[str, Any]:
    """Returns the same data without names."""
    server = _row(data["server"])
    if server["cluster_name"]:
        server["cluster_name"] = "withheld"
    return data | {
        "redacted": True,
        "server": server,
        "facts": {name: _fact(fact) for name, fact in data["facts"].items()},
    }
