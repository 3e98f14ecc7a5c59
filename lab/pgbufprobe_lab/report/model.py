"""The contents of the report, independent of its format."""

from __future__ import annotations

from dataclasses import dataclass

from pgbufprobe_lab.analysis.conclusion import Conclusion
from pgbufprobe_lab.analysis.load import Result
from pgbufprobe_lab.analysis.published import Experiment
from pgbufprobe_lab.analysis.rules import Verdict
from pgbufprobe_page.model import Chart, Table


@dataclass(frozen=True)
class Section:
    experiment: Experiment
    result: Result
    verdicts: tuple[Verdict, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    details: Table | None = None
    problem: str = ""

    @property
    def was_run(self) -> bool:
        return self.result.status != "not run"


@dataclass(frozen=True)
class Report:
    """An experiment that was not run has an entry in the overview, but no section."""

    conclusion: Conclusion
    facts: tuple[tuple[str, str], ...]
    entries: tuple[Section, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        return tuple(entry for entry in self.entries if entry.was_run)

    @property
    def charts(self) -> tuple[Chart, ...]:
        return tuple(chart for entry in self.entries for chart in entry.charts)
