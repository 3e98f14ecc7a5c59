"""Runs scenarios one after the other. A failure is recorded, and the other steps continue."""

import time
from pathlib import Path

from pgbufprobe_lab.measure.errors import LabError, StepFailed, Stopped
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.progress import Progress, format_elapsed
from pgbufprobe_lab.measure.record import Recorder
from pgbufprobe_lab.measure.trial import Scenario, Step, Trial


class ScenarioRun:
    """Runs one scenario."""

    def __init__(self, laboratory: Laboratory, scenario: Scenario, out: Path, progress: Progress):
        self.laboratory = laboratory
        self.scenario = scenario
        self.progress = progress
        self.steps = scenario.steps(laboratory.plan)
        self.recorder = Recorder(out, scenario.name, laboratory.conditions(scenario))
        self.missing = [s for s in self.steps if not self.recorder.is_done(s.key)]
        for step in self.missing:
            progress.left.expect(self._key(step), step.seconds)

    def _key(self, step: Step) -> str:
        return f"{self.scenario.name}/{step.key}"

    def run(self) -> str:
        """Returns its final status."""
        name = self.scenario.name
        if not self.missing:
            self.progress.say(f"{name}: already complete")
            return self.finish()
        begun = time.monotonic()
        try:
            self._prepare()
            for step in self.missing:
                self._measure(step)
        except (KeyboardInterrupt, Stopped):
            self.finish("interrupted")
            raise
        status = self.finish()
        failures = len(self.recorder.raw.failures)
        failed = f"; {failures} of {len(self.steps)} steps failed" if failures else ""
        self.progress.say(f"{name}: {status} in {format_elapsed(time.monotonic() - begun)}{failed}")
        for failure in self.recorder.raw.failures.values():
            self.progress.say(f"    {failure['step']}: {failure['error']}")
        return status

    def _prepare(self) -> None:
        """Creates the tables. If that fails, all steps fail with the same error."""
        self.progress.show(self.scenario.name, 0, len(self.steps), "creating tables")
        try:
            self.laboratory.renew_cluster()
            self.scenario.prepare(self.laboratory)
        except Exception as error:
            for step in self.missing:
                self.recorder.begin(step.key)
                self._failed(step, 0, error)
            self.missing = []

    def _measure(self, step: Step) -> None:
        number = self.steps.index(step) + 1
        self.progress.show(self.scenario.name, number, len(self.steps), step.describe())
        self.recorder.begin(step.key)
        begun = time.monotonic()
        try:
            self.scenario.measure(Trial(self.laboratory, step, self.recorder, self.scenario.limited))
        except Exception as error:
            self._failed(step, time.monotonic() - begun, error)
        else:
            seconds = time.monotonic() - begun
            self.recorder.done(round(seconds, 3))
            self.progress.left.done(self._key(step), seconds)

    def _failed(self, step: Step, seconds: float, error: Exception) -> None:
        expected = isinstance(error, (StepFailed, RuntimeError))
        message = str(error).strip() if expected else f"{type(error).__name__}: {error}"
        self.recorder.failed(
            round(seconds, 3), {"step": step.key, "trial": step.trial, "pool": step.pool, "error": message}
        )
        self.progress.left.forget(self._key(step))

    def finish(self, status: str | None = None) -> str:
        if status is None:
            raw = self.recorder.raw
            status = "complete" if any(raw.samples.values()) and not raw.failures else "failed"
        self.recorder.close()
        self.recorder.write_result(status, [s.key for s in self.steps], self.laboratory.about(self.scenario))
        return status


def run_all(laboratory: Laboratory, scenarios: list[Scenario], out: Path, progress: Progress) -> dict[str, str]:
    """Runs the scenarios. Returns the status of each by its name."""
    laboratory.make_first_cluster()
    runs = []
    for scenario in scenarios:
        try:
            runs.append(ScenarioRun(laboratory, scenario, out, progress))
        except LabError:
            for run in runs:
                run.recorder.close()
            raise
    statuses = {}
    for run in runs:
        statuses[run.scenario.name] = run.run()
    return statuses
