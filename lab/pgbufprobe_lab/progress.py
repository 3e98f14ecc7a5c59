"""How far it is, and how long it will take."""

import shutil
import sys
import time
from typing import TextIO


def clock(seconds: float) -> str:
    """Minutes and seconds, hours where there are some."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class TimeLeft:
    """The sum of what was estimated for what is not done, corrected by how wrong that was so far."""

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
        # The estimates count as 30 s of experience, so that the first steps do not decide alone.
        trust = 30.0
        factor = (self.taken + trust) / (self.estimated + trust)
        return sum(self.open.values()) * factor


class Progress:
    """One line, rewritten on a terminal; elsewhere a line a scenario."""

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
        elapsed = clock(time.monotonic() - self.begun)
        text = f"{scenario}  {number}/{steps}  {what}   {elapsed} passed, about {clock(self.left.seconds())} left"
        # A line that wraps could not be rewritten.
        text = text[: shutil.get_terminal_size().columns - 1]
        print("\r" + text.ljust(self.width), end="", file=self.out, flush=True)
        self.width = len(text)
