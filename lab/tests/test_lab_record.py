"""Raw samples are recorded as they are measured, and a run continues with the remaining steps."""

import io
import json

import pytest

from pgbufprobe_lab.measure.errors import LabError, StepFailed, Stopped
from pgbufprobe_lab.measure.progress import Progress
from pgbufprobe_lab.measure.record import Recorder, read_raw
from pgbufprobe_lab.measure.runner import ScenarioRun
from pgbufprobe_lab.measure.trial import Step

CONDITIONS = {"profile": "quick", "version": "15.1", "parameters": {"reads": 100, "clients": (1, 2)}}
ABOUT = {
    "asks": "why?",
    "profile": "quick",
    "machine": {},
    "version": "15.1",
    "extension": "1.0",
    "memory_limit": {},
    "parameters": CONDITIONS["parameters"],
}


def record(recorder, step, *values):
    recorder.begin(step)
    for number, value in enumerate(values, 1):
        recorder.sample(what="hit_ms", pool="small", pool_bytes=8192, trial=1, x=number, value=value, unit="ms")


def values(raw):
    return {step: [s["value"] for s in samples] for step, samples in raw.samples.items()}


def test_samples_of_done_steps_come_back(tmp_path):
    recorder = Recorder(tmp_path, "A1", CONDITIONS)
    record(recorder, "1/small", 0.5, 0.6)
    recorder.done(2.5)
    recorder.close()
    again = Recorder(tmp_path, "A1", CONDITIONS)
    assert again.is_done("1/small")
    assert not again.is_done("1/large")
    assert values(again.raw) == {"1/small": [0.5, 0.6]}
    assert again.raw.seconds == 2.5
    again.close()


def test_half_a_step_does_not_count(tmp_path):
    recorder = Recorder(tmp_path, "A1", CONDITIONS)
    record(recorder, "1/small", 0.5)
    recorder.close()
    again = Recorder(tmp_path, "A1", CONDITIONS)
    assert not again.is_done("1/small")
    record(again, "1/small", 0.7)
    again.done(1)
    again.close()
    assert values(read_raw(again.path)) == {"1/small": [0.7]}


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    recorder = Recorder(tmp_path, "A1", CONDITIONS)
    record(recorder, "1/small", 0.5)
    recorder.done(1)
    recorder.close()
    with open(recorder.path, "a") as file:
        file.write('{"begin":"1/lar')
    again = Recorder(tmp_path, "A1", CONDITIONS)
    record(again, "1/large", 0.8)
    again.done(1)
    again.close()
    assert values(read_raw(again.path)) == {"1/small": [0.5], "1/large": [0.8]}
    assert all(json.loads(line) for line in again.path.read_text().splitlines())


def test_other_conditions_are_refused(tmp_path):
    Recorder(tmp_path, "A1", CONDITIONS).close()
    with pytest.raises(LabError, match=r"other conditions \(version\)"):
        Recorder(tmp_path, "A1", {**CONDITIONS, "version": "16.1"})


def test_a_sample_that_is_not_in_the_contract_is_refused(tmp_path):
    recorder = Recorder(tmp_path, "A1", CONDITIONS)
    recorder.begin("1/small")
    with pytest.raises(ValueError, match="no sample named"):
        recorder.sample(what="guess", pool=None, pool_bytes=1, trial=1, x=None, value=1, unit="ms")
    with pytest.raises(ValueError, match="is not a number"):
        recorder.sample(what="hit_ms", pool=None, pool_bytes=1, trial=1, x=None, value=None, unit="ms")
    with pytest.raises(ValueError, match="unit 's'"):
        recorder.sample(what="hit_ms", pool=None, pool_bytes=1, trial=1, x=None, value=1, unit="s")
    recorder.close()


def test_result_has_what_was_done_and_what_failed(tmp_path):
    recorder = Recorder(tmp_path, "A1", CONDITIONS)
    record(recorder, "1/small", 0.5)
    recorder.done(1)
    record(recorder, "1/large", 0.9)
    recorder.failed(2, {"step": "1/large", "trial": 1, "pool": "large", "error": 'it "broke"'})
    recorder.write_result("failed", ["1/small", "1/large", "2/small"], ABOUT)
    recorder.close()
    result = json.loads((tmp_path / "A1.json").read_text())
    assert [s["value"] for s in result["samples"]] == [0.5]
    assert result["failures"] == [{"step": "1/large", "trial": 1, "pool": "large", "error": 'it "broke"'}]
    assert (result["status"], result["seconds"], result["schema"]) == ("failed", 3, 1)
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


class FakeScenario:
    name, asks, limited, oldest_major = "A1", "why?", True, 15

    def __init__(self):
        self.prepared = 0
        self.measured = []
        self.errors = {}

    def steps(self, _plan):
        return [Step(f"{t}/{p}", p, 8192, t, 1.0) for t in (1, 2) for p in ("small", "large")]

    def prepare(self, _lab):
        self.prepared += 1

    def measure(self, trial):
        self.measured.append(trial.step.key)
        trial.sample("hit_ms", 0.5, "ms", 1)
        if trial.step.key in self.errors:
            raise self.errors[trial.step.key]


class FakeLaboratory:
    plan = None

    def conditions(self, _scenario):
        return CONDITIONS

    def about(self, _scenario):
        return ABOUT

    def renew_cluster(self):
        pass


def run(scenario, out):
    return ScenarioRun(FakeLaboratory(), scenario, out, Progress(io.StringIO())).run()


def result(out):
    return json.loads((out / "A1.json").read_text())


@pytest.mark.parametrize("stop", [Stopped(2), KeyboardInterrupt()])
def test_an_interrupted_scenario_continues(tmp_path, stop):
    scenario = FakeScenario()
    scenario.errors["2/small"] = stop
    with pytest.raises(type(stop)):
        run(scenario, tmp_path)
    assert result(tmp_path)["status"] == "interrupted"
    assert len(result(tmp_path)["samples"]) == 2

    scenario = FakeScenario()
    assert run(scenario, tmp_path) == "complete"
    assert scenario.measured == ["2/small", "2/large"]
    assert result(tmp_path)["status"] == "complete"
    assert len(result(tmp_path)["samples"]) == 4


def test_a_failed_step_does_not_stop_the_others_and_is_tried_again(tmp_path):
    scenario = FakeScenario()
    scenario.errors["1/large"] = StepFailed("server stopped")
    assert run(scenario, tmp_path) == "failed"
    assert len(scenario.measured) == 4
    assert result(tmp_path)["failures"] == [{"step": "1/large", "trial": 1, "pool": "large", "error": "server stopped"}]
    assert len(result(tmp_path)["samples"]) == 3

    scenario = FakeScenario()
    assert run(scenario, tmp_path) == "complete"
    assert scenario.measured == ["1/large"]
    assert result(tmp_path)["failures"] == []


def test_a_complete_scenario_is_not_measured_again(tmp_path):
    assert run(FakeScenario(), tmp_path) == "complete"
    scenario = FakeScenario()
    assert run(scenario, tmp_path) == "complete"
    assert scenario.measured == []
    assert scenario.prepared == 0


def test_tables_that_cannot_be_made_fail_all_steps(tmp_path):
    scenario = FakeScenario()
    scenario.prepare = lambda _lab: (_ for _ in ()).throw(RuntimeError("no space left"))
    assert run(scenario, tmp_path) == "failed"
    assert [f["error"] for f in result(tmp_path)["failures"]] == ["no space left"] * 4
