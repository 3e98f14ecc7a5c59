"""The command line."""

import signal

import pytest

from pgbufprobe_lab import cli
from pgbufprobe_lab.measure.errors import LabError, Stopped
from pgbufprobe_lab.measure.scenarios import NAMES, load


def refused(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        cli.main(list(argv))
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_list_names_every_scenario(capsys):
    assert cli.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES)
    assert all(line.endswith("?") for line in lines)


@pytest.mark.parametrize(
    "names, selected",
    [
        (["all"], list(NAMES)),
        (["e"], ["E1", "E2", "E3", "E4", "E5"]),
        (["d", "A2", "a2"], ["A2", "D"]),
        (["B"], ["B"]),
    ],
)
def test_select(names, selected):
    assert cli.select(names) == selected


def test_unknown_scenario(capsys):
    assert cli.main(["A9"]) == 2
    assert 'scenario "A9" does not exist' in capsys.readouterr().err


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("--memory", "much", "is not a size"),
        ("--memory", "1MB", "too small"),
        ("--pg", "14", "is not a major version"),
        ("--pg", "new", "is not a major version"),
        ("--data-dir", "/nowhere/at/all", "does not exist"),
        ("--profile", "huge", "invalid choice"),
    ],
)
def test_bad_options(capsys, option, value, message):
    assert message in refused(capsys, "A1", option, value)


def test_no_scenario(capsys):
    assert "--list lists them" in refused(capsys)


def test_results_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert cli.main(["A1", "--out", str(tmp_path / "file" / "folder")]) == 2
    assert "could not create" in capsys.readouterr().err


def test_server_too_old(tmp_path, capsys):
    assert cli.main(["B", "--pg", "15", "--out", str(tmp_path)]) == 2
    assert "B needs PostgreSQL 16 or later" in capsys.readouterr().err


def test_only_the_first_signal_counts():
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        cli.catch_signals()
        with pytest.raises(Stopped) as stopped:
            signal.raise_signal(signal.SIGTERM)
        assert stopped.value.signal_number == signal.SIGTERM
        signal.raise_signal(signal.SIGINT)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("name", NAMES)
def test_scenarios_have_their_attributes(name):
    scenario = load(name)
    assert scenario.name == name
    assert scenario.asks.endswith("?")
    assert isinstance(scenario.limited, bool)
    assert scenario.oldest_major == (16 if name == "B" else 15)


def test_stopped_is_no_ordinary_error():
    assert not issubclass(Stopped, Exception)
    assert issubclass(LabError, Exception)
