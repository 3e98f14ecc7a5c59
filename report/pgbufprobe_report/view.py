"""What pages share: parts of a page, the facts of a report, and how values and names are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pgbufprobe_lab.formatting import number, percent, size
from pgbufprobe_lab.pages import Chart, Table

Row = dict[str, Any]

UNKNOWN = "unknown"
MB = 1024**2

# Class and sign of each verdict of the checkup.
BADGES = {"fine": ("holds", "✓"), "look": ("look", "!"), "act": ("fails", "!"), "unknown": ("unknown", "?")}


@dataclass(frozen=True)
class Part:
    """A section. `unknown` is the reason why something is missing."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    unknown: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    charts: tuple[Chart, ...] = ()
    maps: tuple[Row, ...] = ()
    tables: tuple[Table, ...] = ()
    answers: tuple[Row, ...] = ()
    after: tuple[str, ...] = ()


class Facts:
    """The facts of one report by name."""

    def __init__(self, data: Row):
        self.data = data
        self.server: Row = data["server"]

    def rows(self, name: str) -> list[Row]:
        return self.data["facts"][name]["rows"] or []

    def first(self, name: str) -> Row:
        """Returns the only row, or nothing."""
        return next(iter(self.rows(name)), {})

    def why(self, name: str) -> str:
        """Returns why there are no rows, and what the server said about them."""
        fact = self.data["facts"][name]
        reasons = [f"{fact['call']} is unknown: {fact['unknown']}."] if fact["unknown"] else []
        return " ".join(reasons + [f"The server says: {note}." for note in fact["notes"]])

    def answer(self, key: str) -> Row:
        return next((row for row in self.rows("checkup") if row["key"] == key), {})


def known(value: Any, form: Callable[[Any], str] = str) -> str:
    return UNKNOWN if value is None else form(value)


def with_error(value: Any, error: Any, form: Callable[[Any], str] = size) -> str:
    """Returns a figure with the error of its estimate, if it has one."""
    return f"{form(value)} ± {form(error)}" if value is not None and error else known(value, form)


def interval(row: Row, value: str, ratio: str) -> str:
    """Returns a share with its 95 % interval."""
    if row.get(value) is None:
        return UNKNOWN
    low, high = row.get(f"{ratio}_low"), row.get(f"{ratio}_high")
    ends = f" ({number(100 * low)} to {number(100 * high)})" if low is not None and high is not None else ""
    return percent(row[value]) + ends


def share_of(part: float | None, whole: float | None) -> str:
    return UNKNOWN if part is None or not whole else percent(part / whole)


def label(row: Row) -> str:
    """Returns the name of a relation; of those of other databases, the server knows only the file."""
    fork = "" if row.get("fork") in (None, "main") else f" ({row['fork']})"
    if row.get("relation") is not None:
        return row["relation"] + fork
    if row.get("relfilenode") is None:
        return "all others"
    return f"{row.get('database') or 'shared by all databases'}, file {row['relfilenode']}{fork}"


def table(caption: str, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]], **options: Any) -> Table:
    """Returns a table. Each column has a title, and whether it has figures."""
    names, numeric = zip(*columns, strict=True)
    return Table(caption, names, tuple(tuple(row) for row in rows), numeric, **options)


def tables(*made: Table) -> tuple[Table, ...]:
    """Returns the tables that have rows."""
    return tuple(each for each in made if each.rows)


def moment(text: str | None) -> str:
    """Returns a time without its fraction, with the time zone of the server's session."""
    return known(text, lambda t: f"{datetime.fromisoformat(t):%Y-%m-%d %H:%M:%S %Z}")
