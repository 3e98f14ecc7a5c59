"""Steps have unique names, and each profile has the published number of trials."""

import json

import pytest

from pgbufprobe_lab.measure.plan import PROFILES, Plan
from pgbufprobe_lab.measure.scenarios import NAMES, load
from pgbufprobe_lab.sizes import GB


@pytest.fixture(params=PROFILES)
def plan(request, tmp_path):
    return Plan.make(request.param, ram=24 * GB, data_dirs=(tmp_path / "one", tmp_path / "two"))


@pytest.mark.parametrize("name", NAMES)
def test_steps_have_names_of_their_own(name, plan):
    steps = load(name).steps(plan)
    keys = [step.key for step in steps]
    assert keys
    assert len(set(keys)) == len(keys)
    assert all(step.seconds > 0 and step.pool_bytes > 0 for step in steps)
    assert all(step.describe() for step in steps)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_json(name, plan):
    parameters = load(name).parameters(plan)
    assert parameters
    assert json.loads(json.dumps(parameters))


@pytest.mark.parametrize("name", ["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8"])
def test_a_has_five_trials_of_each_pool(name, plan):
    steps = load(name).steps(plan)
    pools = {step.pool for step in steps}
    for pool in pools:
        assert [step.trial for step in steps if step.pool == pool] == [1, 2, 3, 4, 5]
    # The pools take turns, so that drift affects all of them.
    assert {step.pool for step in steps[: len(pools)]} == pools
    assert pools >= {"small", "large"}


def test_c_has_every_published_cell(plan):
    steps = load("C").steps(plan)
    cells = {(s.pool, s.args["values"], s.args["indexes"]) for s in steps}
    assert len(cells) == len(steps) == 2 * 4 * 6


def test_e5_measures_each_folder(plan):
    steps = load("E5").steps(plan)
    assert {s.args["data_dir"] for s in steps} == {str(path) for path in plan.data_dirs}
    assert load("E5").steps(Plan.make("quick", ram=24 * GB))[0].args["data_dir"] == "(temporary folder)"
