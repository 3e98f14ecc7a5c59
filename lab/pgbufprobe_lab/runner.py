"""Runs scenarios one after the other; what fails is recorded, and the others go on."""

import time
from pathlib import Path

from .errors import LabError, StepFailed, Stopped
from .lab import Lab, Scenario, Step
from .progress import Progress, clock
from .record import Recorder


class ScenarioRun:
    """One scenario of a run."""

    def __init__(self, lab: Lab, scenario: Scenario, out: Path, progress: Progress):
        self.lab = lab
        self.scenario = scenario
        self.progress = progress
        self.steps = scenario.steps(lab.plan)
        self.recorder = Recorder(out, scenario.name, lab.conditions(scenario))
        self.missing = [s for s in self.steps if not self.recorder.is_done(s.key)]
        self.prepared = False
        for step in self.missing:
            progress.left.expect(self._key(step), step.seconds)

    def _key(self, step: Step) -> str:
        return f"{self.scenario.name}/{step.key}"

    def run(self) -> str:
        """Its status in the end."""
        lab, name = self.lab, self.scenario.name
        if not self.missing:
            self.progress.say(f"{name}: was complete already")
            return self.finish()
        lab.recorder, lab.limited = self.recorder, self.scenario.limited
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
        told = f"; {failures} of {len(self.steps)} steps failed" if failures else ""
        self.progress.say(f"{name}: {status} in {clock(time.monotonic() - begun)}{told}")
        for failure in self.recorder.raw.failures.values():
            self.progress.say(f"    {failure['step']}: {failure['error']}")
        return status

    def _prepare(self) -> None:
        """If that fails, so do all steps, and for the same reason."""
        self.progress.show(self.scenario.name, 0, len(self.steps), "making tables")
        try:
            self.lab.renew_cluster()
            self.scenario.prepare(self.lab)
        except Exception as error:
            for step in self.missing:
                self.recorder.begin(step.key)
                self._failed(step, 0, error)
            self.missing = []

    def _measure(self, step: Step) -> None:
        number = self.steps.index(step) + 1
        self.progress.show(self.scenario.name, number, len(self.steps), step.describe())
        self.lab.step = step
        self.recorder.begin(step.key)
        begun = time.monotonic()
        try:
            self.scenario.measure(self.lab, step)
        except Exception as error:
            self._failed(step, time.monotonic() - begun, error)
        else:
            seconds = time.monotonic() - begun
            self.recorder.done(round(seconds, 3))
            self.progress.left.done(self._key(step), seconds)

    def _failed(self, step: Step, seconds: float, error: Exception) -> None:
        told = str(error).strip() if isinstance(error, (StepFailed, RuntimeError)) else f"{type(error).__name__}: {error}"
        self.recorder.failed(round(seconds, 3), {"step": step.key, "trial": step.trial, "pool": step.pool, "error": told})
        self.progress.left.forget(self._key(step))

    def finish(self, status: str | None = None) -> str:
        if status is None:
            status = "failed" if self.recorder.raw.failures else "complete"
        self.recorder.close()
        self.recorder.write_result(status, [s.key for s in self.steps], self.lab.about(self.scenario))
        return status


def run_all(lab: Lab, scenarios: list[Scenario], out: Path, progress: Progress) -> dict[str, str]:
    """Status by name."""
    lab.make_first_cluster()
    runs = []
    for scenario in scenarios:
        try:
            runs.append(ScenarioRun(lab, scenario, out, progress))
        except LabError:
            for run in runs:
                run.recorder.close()
            raise
    statuses = {}
    for run in runs:
        statuses[run.scenario.name] = run.run()
    return statuses
