"""Draws charts as SVG, without JavaScript: curves, bars over time, stacked areas, and maps of blocks.

Colours are those of page.css in light, so that a picture can leave the page. In the page, they are those of the
reader's scheme (see base.html.j2).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import resources

from markupsafe import Markup, escape

from pgbufprobe_page.formatting import number, size

WIDE, NARROW, SMALL = (
    (960, 300),
    (360, 260),
    (400, 200),
)  # a chart of the whole width, on a phone, and of half the width
CHARACTER = 8  # width of most, in pixels
ROOM = 64  # of a label on the x axis
BASE = 42  # height of the x axis with its title
LINE = 15  # height of a line of text
HOUR = 3600
DASHES = ("", "7 4", "2 3")


@cache
def palette() -> dict[str, str]:
    """Returns the colours of page.css in light."""
    style = resources.files(__package__).joinpath("templates", "page.css").read_text(encoding="utf-8")
    return dict(re.findall(r"--(\w+): (#\w+);", style.split("@media")[0]))


@dataclass(frozen=True)
class Point:
    """Values, the ends of the interval of y, and what is shown when one points at it."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    text: str = ""


@dataclass(frozen=True)
class Line:
    name: str
    colour: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Axis:
    """The x axis: of "numbers", of "sizes" on a logarithmic scale, or of a "clock" that shows seconds since 1970."""

    title: str
    kind: str = "numbers"

    def ticks(self, low: float, high: float, most: int) -> dict[float, str]:
        """Returns at most so many round values between the ends, with their labels."""
        if self.kind == "sizes":
            return _sizes(low, high, most)
        if self.kind == "clock":
            return _times(low, high, most)
        return _numbers(low, high, most)


def _numbers(low: float, high: float, most: int) -> dict[float, str]:
    step = 10.0 ** math.floor(math.log10((high - low) / most or 1))
    step *= next(times for times in (1, 2, 5, 10, 20) if (high - low) / (step * times) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return {place * step: number(round(place * step, 10)) for place in range(first, last + 1)}


def _sizes(low: float, high: float, most: int) -> dict[float, str]:
    """Returns powers of two, or if these are few also those and a half."""
    powers = [2.0**power for power in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
    halves = [1.5 * 2.0**power for power in range(math.ceil(math.log2(low)) - 1, math.floor(math.log2(high)) + 1)]
    found = powers if len(powers) > 3 else sorted(powers + [each for each in halves if low <= each <= high])
    return {each: size(each) for each in found[:: math.ceil(len(found) / most) or 1]} or {low: size(low)}


def _times(low: float, high: float, most: int) -> dict[float, str]:
    hours = (high - low) / HOUR
    step = next((each for each in (1, 2, 3, 6, 12, 24, 48) if hours / each <= most), math.ceil(hours / most)) * HOUR
    times = range(math.ceil(low / step) * step, int(high) + 1, step)
    return {time: f"{datetime.fromtimestamp(time, UTC):{'%H:%M' if time % (24 * HOUR) else '%b %d'}}" for time in times}


def _at(*values: float) -> str:
    return ",".join(f"{value:.1f}".removesuffix(".0") for value in values)


class Frame:
    """A chart with its axes. Values of y begin at zero, and are cut at `most`."""

    def __init__(
        self, axis: Axis, ends: tuple[float, float], most: float, unit: str, box: tuple[int, int], marks: int = 0
    ):
        self.axis, self.box, self.ends, self.most = axis, box, ends, most or 1.0
        beside = _numbers(0, self.most, 5)
        self.left = 10 + CHARACTER * max(map(len, beside.values()))
        self.right, self.top, self.bottom = box[0] - 12, 24 + LINE * marks, box[1] - BASE
        self.parts = [f'<text y="12" fill="{palette()["soft"]}">{escape(unit)}</text>']
        grid = "".join(f"M{_at(self.left, self.y(value))}H{_at(self.right)}" for value in beside)
        self.parts.append(f'<path d="{grid}" stroke="{palette()["grid"]}"/>')
        self._labels("end", ((self.left - 6, self.y(value) + 4, text) for value, text in beside.items()))
        room = ROOM if axis.kind != "numbers" else 40
        below = axis.ticks(*ends, max(2, int((self.right - self.left) / room)))
        base = "".join(f"M{_at(self.x(value), self.bottom)}v5" for value in below)
        self.parts.append(
            f'<path d="M{_at(self.left, self.bottom)}H{_at(self.right)}{base}" stroke="{palette()["line"]}"/>'
        )
        # Half of a label at an end must fit.
        inside = ((min(self.x(v), box[0] - CHARACTER * len(text) / 2), text) for v, text in below.items())
        self._labels("middle", ((x, self.bottom + 17, text) for x, text in inside))
        self._labels("middle", [((self.left + self.right) / 2, box[1] - 4, axis.title)])

    def x(self, value: float) -> float:
        low, high = self.ends
        if self.axis.kind == "sizes":
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.left + (self.right - self.left) * ((value - low) / (high - low) if high > low else 0.5)

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * min(max(value, 0), self.most) / self.most

    def _labels(self, anchor: str, texts: Iterable[tuple[float, float, str]]) -> None:
        found = "".join(f'<text x="{_at(x)}" y="{_at(y)}">{escape(text)}</text>' for x, y, text in texts)
        self.parts.append(f'<g text-anchor="{anchor}" fill="{palette()["soft"]}">{found}</g>')

    def mark(self, place: int, value: float, text: str) -> None:
        """Draws a vertical line with its text, which is on the left if there is no room on the right."""
        x, ink = self.x(value), palette()["ink"]
        left = x + 5 + CHARACTER * len(text) > self.box[0]
        where = f'x="{_at(x - 5 if left else x + 5)}" y="{_at(28 + LINE * place)}"'
        anchor = ' text-anchor="end"' if left else ""
        self.parts.append(
            f'<path d="M{_at(x, 18 + LINE * place)}V{_at(self.bottom)}" stroke="{ink}" stroke-dasharray="5 4"/>'
        )
        self.parts.append(f'<text {where}{anchor} fill="{ink}" font-weight="bold">{escape(text)}</text>')

    def line(self, line: Line, dash: str) -> None:
        """Draws a line with its points, and the band of its intervals."""
        colour, points = palette()[line.colour], line.points
        ends = [point for point in points if point.low is not None and point.high is not None]
        outline = [(point.x, point.high or 0.0) for point in ends] + [
            (point.x, point.low or 0.0) for point in ends[::-1]
        ]
        band = " ".join(_at(self.x(x), self.y(y)) for x, y in outline)
        self.parts.append(f'<polygon points="{band}" fill="{colour}" fill-opacity=".2"/>')
        path = " ".join(_at(self.x(point.x), self.y(point.y)) for point in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"{dashed}/>')
        dots = "".join(
            f'<circle cx="{_at(self.x(p.x))}" cy="{_at(self.y(p.y))}" r="4"><title>{escape(p.text)}</title></circle>'
            for p in points
            if p.text
        )
        self.parts.append(f'<g fill="{colour}">{dots}</g>')

    def svg(self, name: str) -> Markup:
        return svg(self.box, name, self.parts)


def svg(box: tuple[int, int], name: str, parts: Sequence[str], options: str = "") -> Markup:
    """Returns a picture. Its name is for those who cannot see it."""
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {box[0]} {box[1]}" width="{box[0]}" height="{box[1]}" '
        f'font-family="system-ui,sans-serif" font-size="12" role="img" aria-label="{escape(name)}"{options}>'
        f"{''.join(parts)}</svg>"
    )


def curve(
    lines: Sequence[Line], axis: Axis, unit: str, markers: dict[str, float], name: str, box: tuple[int, int]
) -> Markup:
    """Draws lines with the bands of their intervals, and markers at values of x."""
    points = [point for line in lines for point in line.points]
    highest = max(point.y for point in points)
    # Where nearly nothing is known, an interval would leave no room for the line.
    most = min(max(point.high or point.y for point in points), 3 * highest) or highest
    across = [point.x for point in points]
    frame = Frame(axis, (min(across), max(across)), most, unit, box, len(markers))
    for place, line in enumerate(lines):
        frame.line(line, DASHES[place % len(DASHES)])
    for place, (text, value) in enumerate(markers.items()):
        if min(across) <= value <= max(across):
            frame.mark(place, value, text)
    return frame.svg(name)


def bars(
    groups: Mapping[str, Sequence[tuple[float, float, float]]], axis: Axis, unit: str, name: str, box: tuple[int, int]
) -> Markup:
    """Draws bars by colour, each from x to an end."""
    found = [bar for group in groups.values() for bar in group]
    ends = (min(bar[0] for bar in found), max(bar[1] for bar in found))
    frame = Frame(axis, ends, max(bar[2] for bar in found), unit, box)
    gap = 1 if (frame.right - frame.left) / len(found) > 3 else 0
    for colour, group in groups.items():
        path = "".join(
            f"M{_at(frame.x(x), frame.bottom)}V{_at(frame.y(y))}H{_at(frame.x(end) - gap)}V{_at(frame.bottom)}"
            for x, end, y in group
        )
        frame.parts.append(f'<path d="{path}" fill="{palette()[colour]}"/>')
    return frame.svg(name)


def areas(
    colours: Sequence[str], rows: Sequence[tuple[float, Sequence[float]]], axis: Axis, unit: str, name: str
) -> Markup:
    """Draws the percentages of each value of its row, stacked, the first at the bottom."""
    frame = Frame(axis, (rows[0][0], rows[-1][0]), 100, unit, SMALL)
    top = [0.0] * len(rows)
    for place, colour in enumerate(colours):
        bottom = top
        top = [low + 100 * values[place] / sum(values) for low, (_, values) in zip(bottom, rows, strict=True)]
        edge = [(row[0], y) for row, y in zip(rows, top, strict=True)]
        edge += [(row[0], y) for row, y in zip(rows[::-1], bottom[::-1], strict=True)]
        path = " ".join(_at(frame.x(x), frame.y(y)) for x, y in edge)
        frame.parts.append(f'<polygon points="{path}" fill="{palette()[colour]}"/>')
    return frame.svg(name)


def steps(layers: Mapping[str, Sequence[float]], name: str) -> Markup:
    """Draws percentages from the bottom, side by side, and later layers above the earlier ones."""
    count = max(map(len, layers.values()))
    parts = [f'<path d="M0,0H{count}V100H0Z" fill="{palette()["grid"]}"/>']
    for colour, values in layers.items():
        path = "".join(f"V{100 - value:.0f}H{place}" for place, value in enumerate(values, 1))
        parts.append(f'<path d="M0,100{path}V100Z" fill="{palette()[colour]}"/>')
    return svg((count, 100), name, parts, ' preserveAspectRatio="none"')


def legend(entries: Sequence[tuple[str, str]], dashed: bool = False) -> Markup:
    """Returns the names of colours, each with a sample: of a line if lines are dashed."""
    found = []
    for place, (name, colour) in enumerate(entries):
        dash = DASHES[place % len(DASHES)]
        path = "M0,6H24" if dashed else "M5,6H19"
        style = f'stroke-dasharray="{dash}" stroke-width="3"' if dashed else 'stroke-width="12"'
        found.append(
            f'<span><svg width="24" height="12" aria-hidden="true">'
            f'<path d="{path}" stroke="{palette()[colour]}" {style}/></svg> {escape(name)}</span>'
        )
    return Markup(f'<p class="legend">{" ".join(found)}</p>') if len(entries) > 1 else Markup("")
