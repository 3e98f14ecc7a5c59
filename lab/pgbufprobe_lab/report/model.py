"""The contents of the report, independent of its format."""

from __future__ import annotations

from dataclasses import dataclass

from pgbufprobe_lab.analysis.conclusion import Conclusion
from pgbufprobe_lab.analysis.load import Result
from pgbufprobe_lab.analysis.published import Experiment
from pgbufprobe_lab.analysis.rules import Verdict
from pgbufprobe_page import Picture, Table


@dataclass(frozen=True)
class Section:
    experiment: Experiment
    result: Result
    verdicts: tuple[Verdict, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Picture, ...] = ()
    details: Table | None = None
    problem: str = ""

    @property
    def files(self) -> dict[str, Picture]:
        """Returns the charts by the names of their files."""
        return {f"chart-{self.experiment.name}-{index}.svg": chart for index, chart in enumerate(self.charts)}

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
