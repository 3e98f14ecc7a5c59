"""Shows progress and the estimated time left."""

import shutil
import sys
import time
from typing import TextIO


def format_elapsed(seconds: float) -> str:
    """Returns minutes and seconds, with hours if there are any."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class TimeLeft:
    """Estimated time of the remaining steps, corrected by the error of the estimates so far."""

    def __init__(self) -> None:
        self.open: dict[str, float] = {}
        self.estimated = 0.0
        self.taken = 0.0

    def expect(self, key: str, seconds: float) -> None:
        self.open[key] = seconds

    def done(self, key: str, seconds: float) -> None:
        self.estimated += self.open.pop(key)
        self.taken += seconds

    def forget(self, key: str) -> None:
        self.open.pop(key, None)

    def seconds(self) -> float:
        # Weight the estimates like 30 s of measurements, so that the first steps do not dominate.
        weight = 30.0
        factor = (self.taken + weight) / (self.estimated + weight)
        return sum(self.open.values()) * factor


class Progress:
    """One line that is rewritten on a terminal; elsewhere one line for each scenario."""

    def __init__(self, out: TextIO = sys.stderr):
        self.out = out
        self.live = out.isatty()
        self.begun = time.monotonic()
        self.left = TimeLeft()
        self.width = 0

    def say(self, text: str) -> None:
        self.clear()
        print(text, file=self.out, flush=True)

    def clear(self) -> None:
        if self.live and self.width:
            print("\r" + " " * self.width + "\r", end="", file=self.out, flush=True)
            self.width = 0

    def show(self, scenario: str, number: int, steps: int, what: str) -> None:
        if not self.live:
            return
        elapsed = format_elapsed(time.monotonic() - self.begun)
        left = format_elapsed(self.left.seconds())
        text = f"{scenario}  {number}/{steps}  {what}   {elapsed} elapsed, about {left} left"
        # A wrapped line could not be rewritten.
        text = text[: shutil.get_terminal_size().columns - 1]
        print("\r" + text.ljust(self.width), end="", file=self.out, flush=True)
        self.width = len(text)
