"""What pages share: parts of a page, and how values are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pgbufprobe_page import Chart, Table
from pgbufprobe_page.formatting import number, percent, size
from pgbufprobe_report.facts import Answer

T = TypeVar("T")

UNKNOWN = "unknown"
MB = 1024**2


@dataclass(frozen=True)
class Blocks:
    """A map of the blocks of a relation. Cells are CSS."""

    title: str
    text: str
    cells: tuple[str, ...]
    unknown: str
    both: int | None


@dataclass(frozen=True)
class Part:
    """A section. `unknown` is the reason why something is missing."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    unknown: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    charts: tuple[Chart, ...] = ()
    maps: tuple[Blocks, ...] = ()
    tables: tuple[Table, ...] = ()
    answers: tuple[Answer, ...] = ()
    after: tuple[str, ...] = ()


def known(value: T | None, form: Callable[[T], str] = str) -> str:
    return UNKNOWN if value is None else form(value)


def measured(value: float | None, unit: str) -> str:
    return known(value, lambda v: f"{number(v)} {unit}")


def with_error(value: float | None, error: float | None) -> str:
    """Returns a size with the error of its estimate, if it has one."""
    return f"{size(value)} ± {size(error)}" if value is not None and error else known(value, size)


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """Returns a share with its 95 % interval."""
    ends = "" if low is None or high is None else f" ({number(100 * low)} to {number(100 * high)})"
    return UNKNOWN if value is None else percent(value) + ends


def milliseconds(value: float | None, low: float | None, high: float | None) -> str:
    """Returns a time with its 95 % interval."""
    ends = "" if low is None or high is None else f" ({number(low)} to {number(high)})"
    return measured(value, "ms") + ends


def share_of(part: float | None, whole: float | None) -> str:
    return UNKNOWN if part is None or not whole else percent(part / whole)


def table(caption: str, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]], **options: Any) -> Table:
    """Returns a table. Each column has a title, and whether it has figures."""
    names, numeric = zip(*columns, strict=True)
    return Table(caption, names, tuple(tuple(row) for row in rows), numeric, **options)


def tables(*made: Table) -> tuple[Table, ...]:
    """Returns the tables that have rows."""
    return tuple(each for each in made if each.rows)


def shared(notes: list[list[str]]) -> list[str]:
    """Returns the parts that all notes begin with."""
    common = []
    for parts in zip(*notes, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return common


def said(notes: Sequence[tuple[str, str | None]], everything: str) -> tuple[str, ...]:
    """Returns each note once, with the names of what it is about. What all notes begin with is about everything."""
    parts = [(name, note.split("; ") if note else []) for name, note in notes]
    common = shared([each for _, each in parts])
    found: dict[str, list[str]] = {}
    for name, each in parts:
        if rest := "; ".join(each[len(common) :]):
            found.setdefault(rest, []).append(name)
    lines = [f"{everything}: {'; '.join(common)}."] if common else []
    return (*lines, *(f"{', '.join(names)}: {note}." for note, names in found.items()))


def joined(*reasons: str) -> str:
    return " ".join(filter(None, reasons))


def moment(text: str) -> str:
    """Returns a time without its fraction, with the time zone of the server's session."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S %Z}"
