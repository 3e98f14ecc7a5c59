"""Progress and the estimated time left."""

import io

from pgbufprobe_lab.measure.progress import Progress, TimeLeft, format_elapsed


def test_elapsed_time():
    assert [format_elapsed(s) for s in (0, 59.6, 61, 3600, 7325)] == ["0:00", "1:00", "1:01", "1:00:00", "2:02:05"]


def test_time_left_is_the_estimate_at_first():
    left = TimeLeft()
    left.expect("a", 10)
    left.expect("b", 20)
    assert left.seconds() == 30


def test_time_left_learns():
    left = TimeLeft()
    for key in "abc":
        left.expect(key, 30)
    left.done("a", 90)
    # 90 s taken for 30 s estimated, with a weight of 30 s for the estimates: a factor of 2.
    assert left.seconds() == 2 * 60
    left.forget("b")
    assert left.seconds() == 2 * 30
    left.done("c", 30)
    assert left.seconds() == 0


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_has_one_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    progress = Progress(out)
    progress.left.expect("A1/1", 65)
    progress.show("A1", 1, 15, "small pool, trial 1")
    assert out.getvalue() == "\rA1  1/15  small pool, trial 1   0:00 elapsed, about 1:05 left"
    progress.say("A1: complete")
    assert out.getvalue().endswith("\r" + " " * progress.width + "A1: complete\n")


def test_a_line_does_not_wrap(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    out = Terminal()
    Progress(out).show("A1", 1, 15, "small pool, trial 1")
    assert out.getvalue() == "\rA1  1/15  small poo"


def test_elsewhere_only_what_is_said():
    out = io.StringIO()
    progress = Progress(out)
    progress.show("A1", 1, 15, "small pool, trial 1")
    progress.say("A1: complete")
    assert out.getvalue() == "A1: complete\n"
