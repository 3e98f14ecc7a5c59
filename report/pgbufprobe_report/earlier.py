"""Facts that earlier versions have written, in the words and columns of this one. What was renamed since is here."""

from __future__ import annotations

from typing import Any

FORMAT = 1
WORDS = {"look": "consider", "act": "change"}  # of verdicts
TOPICS = {
    "pool_full": "pool",
    "page_lifetime": "page lifetime",
    "victim_cost": "victim search",
    "dirty_victims": "dirty victims",
    "scan_cost": "pool scans",
    "cached_twice": "cached twice",
    "planner_cache": "planner cache",
}
RENAMED = {"key": "topic", "seen_seconds": "seconds"}
NEW = {"victims": ("avg_us", "p99_us"), "gains": ("read_fraction",)}


def _calculated(make: Any) -> Any:
    """Returns a figure, or None if it was calculated from what is no figure."""
    try:
        return make()
    except (TypeError, ArithmeticError):
        return None


def _row(fact: str, old: dict[str, Any], block: Any) -> dict[str, Any]:
    """Returns a row with the columns of this version. What is of the wrong type stays as it is."""
    row: dict[str, Any] = dict.fromkeys(NEW.get(fact, ()))
    row |= {RENAMED.get(key, key.removeprefix("estd_")): value for key, value in old.items()}
    for column, words in (("verdict", WORDS), ("topic", TOPICS)):
        if isinstance(row.get(column), str):
            row[column] = words.get(row[column], row[column])
    if fact == "usage" and "bytes" in row:
        row["buffers"] = _calculated(lambda: row["bytes"] // block)
    if fact == "victims" and "victims" in row:
        row["inspected"] = _calculated(lambda: row["inspected_per_victim"] * row["victims"])
    for column in [key.removesuffix("_error") for key in row if key.endswith("_error")]:
        error, value = row[f"{column}_error"] or 0, row.get(column)
        row[f"{column}_low"] = _calculated(lambda v=value, e=error: type(v)(v - e))
        row[f"{column}_high"] = _calculated(lambda v=value, e=error: type(v)(v + e))
    return row


def modern(data: dict[str, Any]) -> dict[str, Any]:
    """Returns a report of FORMAT in the columns of this version."""
    facts, server = data.get("facts"), data.get("server")
    if not isinstance(facts, dict) or not isinstance(server, dict):
        return data
    block = server.get("block_bytes")
    made = {}
    for name, fact in facts.items():
        rows = fact.get("rows") if isinstance(fact, dict) else None
        if isinstance(rows, list):
            rows = [_row(name, row, block) if isinstance(row, dict) else row for row in rows]
            fact = fact | {"rows": rows}
        made[name] = fact
    return data | {"facts": made}
