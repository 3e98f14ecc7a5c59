"""A run from the first server to the report: which scenario on which server, and what is told."""

import time
from pathlib import Path

from .cgroup import Cgroups
from .errors import LabError, Stopped
from .lab import Lab, Scenario
from .plan import Plan
from .progress import Progress, clock
from .runner import run_all
from .sizes import format_bytes
from .workshop import Workshop


class Session:
    def __init__(self, plan: Plan, cgroups: Cgroups, out: Path, progress: Progress):
        self.plan = plan
        self.cgroups = cgroups
        self.out = out
        self.progress = progress
        self.statuses: dict[str, str] = {}

    def run(self, scenarios: list[Scenario], major: int | None) -> int:
        """Exit status: 0 if all was measured."""
        begun = time.monotonic()
        if major is not None and (too_new := [s for s in scenarios if s.oldest_major > major]):
            raise LabError(f"{too_new[0].name} needs PostgreSQL {too_new[0].oldest_major} or later")
        self.cgroups.remove_stale()
        self._tell_plan()
        try:
            later = self._run_on(major, scenarios)
            # What the server at hand is too old for.
            if later:
                self._run_on(max(s.oldest_major for s in later), later)
        except Stopped:
            self.progress.say("Stopped. The same command continues with what is missing.")
            self._report()
            raise
        self._report()
        self._tell_end(time.monotonic() - begun)
        return 0 if all(status == "complete" for status in self.statuses.values()) else 1

    def _run_on(self, major: int | None, scenarios: list[Scenario]) -> list[Scenario]:
        """Returns the scenarios for which this server is too old."""
        self.progress.say(f"Preparing PostgreSQL {major}" if major else "Preparing a server")
        workshop = Workshop(major)
        try:
            fit = [s for s in scenarios if s.oldest_major <= workshop.major]
            if fit:
                self.progress.say(f"PostgreSQL {workshop.version}, in {workshop.work}")
                self.statuses.update(run_all(Lab(self.plan, workshop, self.cgroups), fit, self.out, self.progress))
            return [s for s in scenarios if s not in fit]
        finally:
            self.progress.clear()
            workshop.close()

    def _tell_plan(self) -> None:
        memory = format_bytes(self.plan.memory)
        if not self.plan.limit_memory:
            self.progress.say(f"Profile {self.plan.profile.name}, with the RAM there is ({memory})")
        elif self.cgroups.base:
            self.progress.say(f"Profile {self.plan.profile.name}, on a machine of {memory} ({self.cgroups.how})")
        else:
            self.progress.say(
                f"Profile {self.plan.profile.name}, with tables for {memory}; but the server has all the RAM there is: "
                f"{self.cgroups.why}"
            )

    def _report(self) -> None:
        try:
            from .report import write_report
        except ImportError:
            self.progress.say(f"Results: {self.out}")
            return
        try:
            write_report(self.out)
            self.progress.say(f"Report: {self.out / 'report.html'} and report.md")
        except Exception as error:
            # What was measured is safe, and the report can be written again.
            self.progress.say(f"The report could not be written: {type(error).__name__}: {error}")

    def _tell_end(self, seconds: float) -> None:
        complete = sum(status == "complete" for status in self.statuses.values())
        self.progress.say(f"{complete} of {len(self.statuses)} scenarios complete, in {clock(seconds)}")
