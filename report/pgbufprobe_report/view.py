"""What pages share: parts of a page, and how values are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from markupsafe import Markup

from pgbufprobe_page import Picture, Table
from pgbufprobe_page.formatting import number, size
from pgbufprobe_report.facts import Answer

T = TypeVar("T")

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Blocks:
    """A map of the blocks of a relation."""

    title: str
    text: str
    drawn: Markup
    both: int | None


@dataclass(frozen=True)
class Part:
    """A section. `unknown` is the reason why something is missing. `details` are tables that are folded."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    unknown: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    charts: tuple[Picture, ...] = ()
    maps: tuple[Blocks, ...] = ()
    tables: tuple[Table, ...] = ()
    details: tuple[Table, ...] = ()
    answers: tuple[Answer, ...] = ()
    after: tuple[str, ...] = ()
    folded: bool = False


def known(value: T | None, form: Callable[[T], str] = str) -> str:
    return UNKNOWN if value is None else form(value)


def figure(value: float) -> str:
    """Returns at most one digit after the point, unless it would be the first that is not zero."""
    return number(value, 2) if 0 < abs(value) < 1 else number(round(value, 1 if abs(value) < 100 else None))


def measured(value: float | None, unit: str) -> str:
    return known(value, lambda v: f"{figure(v)} {unit}")


def certain(value: float | None, low: float | None, high: float | None) -> bool:
    """Returns whether a value is known, and its 95 % interval does not say that it may as well be nothing."""
    return value is not None and (low is None or high is None or low == high or high - low <= 2 * abs(value))


def _spread(value: float | None, low: float | None, high: float | None, form: Callable[[float], str], unit: str) -> str:
    """Returns a figure with its 95 % interval, if it is certain."""
    if value is None or not certain(value, low, high):
        return UNKNOWN
    if low is None or high is None or low == high:
        return form(value) + unit
    return f"{form(value)}{unit} ({form(low)} to {form(high)})"


def sized(value: float | None, low: float | None, high: float | None) -> str:
    return _spread(value, low, high, size, "")


def interval(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Returns a share in percent."""
    if value is not None and 0 < value < 1e-4 and (high is None or high < 1e-3):
        return "< 0.01 %"
    return _spread(value, low, high, lambda share: figure(100 * share), " %")


def milliseconds(value: float | None, low: float | None = None, high: float | None = None) -> str:
    return _spread(value, low, high, figure, " ms")


def share_of(part: float | None, whole: float | None) -> str:
    return UNKNOWN if part is None or not whole else interval(part / whole)


def table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[str] = (), long: bool = False
) -> Table:
    """Returns a table without columns of which nothing is known. The first and those of `words` have no figures."""
    shown = [place for place in range(len(columns)) if not rows or any(row[place] != UNKNOWN for row in rows)]
    names = tuple(columns[place] for place in shown)
    numeric = tuple(place > 0 and columns[place] not in words for place in shown)
    return Table(caption, names, tuple(tuple(row[place] for place in shown) for row in rows), numeric, long=long)


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
    return (*lines, *(f"{', '.join(dict.fromkeys(names))}: {note}." for note, names in found.items()))


def joined(*reasons: str) -> str:
    return " ".join(filter(None, reasons))


def moment(text: str) -> str:
    """Returns a time without its fraction, with the time zone of the server's session."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S %Z}"
