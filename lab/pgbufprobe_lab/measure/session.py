"""A run of lab/run: chooses the server for each scenario, and reports progress."""

import time
from collections.abc import Callable
from pathlib import Path

from pgbufprobe_lab.measure.cgroup import Cgroups
from pgbufprobe_lab.measure.errors import LabError, Stopped
from pgbufprobe_lab.measure.installation import Installation
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.progress import Progress, format_elapsed
from pgbufprobe_lab.measure.runner import run_all
from pgbufprobe_lab.measure.trial import Scenario
from pgbufprobe_lab.sizes import format_bytes


class Session:
    """One call of lab/run. `write_report` is called with the folder of results at the end."""

    def __init__(
        self, plan: Plan, cgroups: Cgroups, out: Path, progress: Progress, write_report: Callable[[Path], object]
    ):
        self.plan = plan
        self.cgroups = cgroups
        self.out = out
        self.progress = progress
        self.write_report = write_report
        self.statuses: dict[str, str] = {}

    def run(self, scenarios: list[Scenario], major: int | None) -> int:
        """Returns the exit status: 0 if all was measured."""
        begun = time.monotonic()
        if major is not None and (too_new := [s for s in scenarios if s.oldest_major > major]):
            raise LabError(f"{too_new[0].name} needs PostgreSQL {too_new[0].oldest_major} or later")
        self.cgroups.remove_stale()
        self._announce()
        try:
            # Without a requested major version, the installed server may be too old for some scenarios.
            later = self._run_on(major, scenarios)
            if later:
                self._run_on(max(s.oldest_major for s in later), later)
        except Stopped:
            self.progress.say("Stopped. The same command continues with the remaining steps.")
            self._report()
            raise
        self._report()
        complete = sum(status == "complete" for status in self.statuses.values())
        elapsed = format_elapsed(time.monotonic() - begun)
        self.progress.say(f"{complete} of {len(self.statuses)} scenarios complete, in {elapsed}")
        return 0 if complete == len(self.statuses) else 1

    def _run_on(self, major: int | None, scenarios: list[Scenario]) -> list[Scenario]:
        """Runs the scenarios on one server. Returns those that need a later major version."""
        self.progress.say(f"Preparing PostgreSQL {major}" if major else "Preparing a server")
        installation = Installation(major)
        try:
            supported = [s for s in scenarios if s.oldest_major <= installation.major]
            if supported:
                self.progress.say(f"PostgreSQL {installation.version}, in {installation.work}")
                laboratory = Laboratory(self.plan, installation, self.cgroups)
                self.statuses.update(run_all(laboratory, supported, self.out, self.progress))
            return [s for s in scenarios if s not in supported]
        finally:
            self.progress.clear()
            installation.close()

    def _announce(self) -> None:
        profile, memory = self.plan.profile.name, format_bytes(self.plan.memory)
        if not self.plan.limit_memory:
            self.progress.say(f"Profile {profile}, with all RAM ({memory})")
        elif self.cgroups.base:
            self.progress.say(f"Profile {profile}, with a memory limit of {memory} ({self.cgroups.how})")
        else:
            self.progress.say(
                f"Profile {profile}, with tables for {memory}, but the server can use all RAM: {self.cgroups.why}"
            )

    def _report(self) -> None:
        try:
            self.write_report(self.out)
            self.progress.say(f"Report: {self.out / 'report.html'} and report.md")
        except Exception as error:
            # The samples are safe, and the report can be written again.
            self.progress.say(f"Could not write the report: {type(error).__name__}: {error}")
