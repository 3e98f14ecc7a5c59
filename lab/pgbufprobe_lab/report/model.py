"""What a report consists of, whatever it is written as."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pgbufprobe_lab.published import Scenario
from pgbufprobe_lab.report.load import Result
from pgbufprobe_lab.report.rules import Verdict


@dataclass(frozen=True)
class Table:
    """Cells are plain text; the first column names the row. `numeric` says which columns are figures.

    A long one scrolls sideways on a phone; the others put their cells below each other there.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    failed: bool = False
    long: bool = False


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification with the words that belong to it."""

    title: str
    caption: str
    spec: dict[str, Any]
    wide: bool = False


@dataclass(frozen=True)
class Section:
    scenario: Scenario
    result: Result
    verdicts: tuple[Verdict, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    details: tuple[Table, ...] = ()
    trouble: str = ""


@dataclass(frozen=True)
class Answer:
    """The conclusion for this machine: which pool, and what decides it."""

    headline: str
    reasons: tuple[str, ...]
    rule: str


@dataclass(frozen=True)
class Report:
    answer: Answer
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...] = field(default_factory=tuple)
