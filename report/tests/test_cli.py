"""The command line."""

import json

import pytest
from artificial import fact, history, report, sizes, usage

from pgbufprobe_report.cli import Progress, main


@pytest.fixture
def files(tmp_path):
    for name in ("before", "after"):
        (tmp_path / f"{name}.json").write_text(json.dumps(report(), ensure_ascii=False), encoding="utf-8")
    return [str(tmp_path / f"{name}.json") for name in ("before", "after")]


def test_a_file_of_facts_is_shown_as_a_page(files, capfdbinary):
    assert main(files[:1]) == 0
    assert capfdbinary.readouterr().out.startswith(b"<!DOCTYPE html>")


def test_two_files_are_compared(files, capfdbinary):
    assert main(files) == 0
    assert b"before and after</title>" in capfdbinary.readouterr().out


def test_facts_are_written_as_they_are_and_without_names(files, capfdbinary):
    assert main(["--json", files[0]]) == 0
    assert json.loads(capfdbinary.readouterr().out) == report()
    assert main(["--json", "--redact", files[0]]) == 0
    out = capfdbinary.readouterr().out
    assert b"shop" not in out
    assert json.loads(out)["redacted"] is True


@pytest.mark.parametrize(
    "facts, error",
    [
        (
            {"sizes": fact([row | {"miss_ratio": 1e308} for row in sizes()])},
            "it.facts.sizes.rows.miss_ratio is not of type float",
        ),
        (
            {"usage": fact([row | {"buffers": 10**400} for row in usage()])},
            "buffers is not of type int, or out of range",
        ),
        ({"usage": fact([row | {"buffers": "8"} for row in usage()])}, "buffers is not of type int"),
        ({"usage": fact([{}])}, "it.facts.usage.rows has no usagecount"),
        ({"usage": None}, "usage is not of type Fact"),
        ({"history": fact([row | {"taken_at": "yesterday"} for row in history()])}, "not a time with its time zone"),
        ({"history": fact([row | {"taken_at": "2026-11-22T12:00:00"} for row in history()])}, "not a time with its"),
        ({"history": fact([row | {"usagecounts": [0]} for row in history()])}, "division by zero"),
    ],
)
def test_facts_that_no_server_has(tmp_path, capsys, facts, error):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(report(**facts)))
    assert main([str(path)]) == 2
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["dbname=shop", "after.json"], ["before.json", "dbname=shop"], []])
def test_wrong_arguments(arguments, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert "usage: report/run" in capsys.readouterr().err


@pytest.mark.parametrize("text, error", [("{", "is not JSON"), ("{}", "is not a report of format 2"), ("[]", "is not")])
def test_other_files(tmp_path, text, error, capsys):
    (tmp_path / "a.json").write_text(text)
    assert main([str(tmp_path / "a.json")]) == 2
    assert error in capsys.readouterr().err
    assert main([str(tmp_path / "none.json")]) == 2
    assert "could not read" in capsys.readouterr().err


def test_a_server_that_is_not_there(tmp_path, capsys):
    assert main([f"host={tmp_path} port=1"]) == 2
    assert "report/run: " in capsys.readouterr().err


class Terminal:
    def __init__(self, live):
        self.live, self.text = live, ""

    def isatty(self):
        return self.live

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_is_a_line_on_a_terminal_and_nothing_elsewhere():
    terminal, pipe = Terminal(True), Terminal(False)
    for out in (terminal, pipe):
        progress = Progress(out=out)
        progress.show("map of \x1b[31mred\n")
        progress.show("")
    assert terminal.text == "\rreport: map of ?[31mred?\x1b[K\r\x1b[K"
    assert pipe.text == ""
