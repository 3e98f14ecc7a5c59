"""Draws charts as SVG, without JavaScript: curves, marks, bars, stacks, stacked areas, and maps of blocks.

Colours are those of page.css in light, so that a picture can leave the page. In the page, they are those of the
reader's scheme (see base.html.j2).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
ROW = 24  # height of a row with its name
HOUR = 3600
# Of the first series, the second and so on, for readers who cannot distinguish the colours, and for print.
DASHES = ("", "7 4", "2 3", "9 3 2 3")
SHAPES = ("m-4,0a4,4 0 1 0 8,0a4,4 0 1 0-8,0z", "m-4,-4h8v8h-8z", "m0,-5l5,9h-10z")
# Logarithmic axes: the base, how many of its powers suffice, which multiples are ticks otherwise, and their labels.
LOGARITHMIC: dict[str, tuple[int, int, tuple[float, ...], Callable[[float], str]]] = {
    "sizes": (2, 4, (1, 1.5), size),
    "doublings": (2, 1, (1,), number),
    "decades": (10, 2, (1, 2, 5), number),
}


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
    """An axis of "numbers", one of LOGARITHMIC, a "clock" that shows seconds since 1970, or rows with names."""

    title: str = ""
    kind: str = "numbers"
    names: Sequence[str] = ()

    def ticks(self, low: float, high: float, most: int) -> dict[float, str]:
        """Returns about so many round values between the ends, with their labels; or all names."""
        if self.names:
            return dict(enumerate(self.names))
        if self.kind in LOGARITHMIC:
            return _powers(low, high, most, *LOGARITHMIC[self.kind])
        return _times(low, high, most) if self.kind == "clock" else _numbers(low, high, most)

    def part(self, value: float, low: float, high: float) -> float:
        """Returns where a value is between the ends, from 0 to 1."""
        if self.kind in LOGARITHMIC:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return min(max((value - low) / (high - low), 0), 1) if low != high else 0.5

    def ends(self, values: Sequence[float]) -> tuple[float, float]:
        """Returns the ends that show marks at these values: numbers from zero on, and the first row at the top."""
        if self.names:
            return len(self.names) - 0.5, -0.5
        low, high = min(values), max(values)
        beyond = (high / low) ** 0.05 if self.kind in LOGARITHMIC else 1
        return (low / beyond, high * beyond) if self.kind in LOGARITHMIC else (0, high)


def _numbers(low: float, high: float, most: int) -> dict[float, str]:
    step = 10.0 ** math.floor(math.log10((high - low) / most or 1))
    step *= next(times for times in (1, 2, 5, 10, 20) if (high - low) / (step * times) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return {place * step: number(round(place * step, 10)) for place in range(first, last + 1)}


def _powers(
    low: float, high: float, most: int, base: int, enough: int, multiples: Sequence[float], form: Callable[[float], str]
) -> dict[float, str]:
    """Returns powers of the base, or if these are few also multiples."""
    exponents = range(math.floor(math.log(low, base)), math.floor(math.log(high, base) + 1e-9) + 1)
    powers = [power for exponent in exponents if low <= (power := float(base) ** exponent) <= high]
    found = [each for exponent in exponents for times in multiples if low <= (each := times * base**exponent) <= high]
    found = powers if len(powers) >= enough else found
    return {each: form(each) for each in found[:: math.ceil(len(found) / most) or 1]} or {low: form(low)}


def _times(low: float, high: float, most: int) -> dict[float, str]:
    hours = (high - low) / HOUR
    step = next((each for each in (1, 2, 3, 6, 12, 24, 48) if hours / each <= most), math.ceil(hours / most)) * HOUR
    times = range(math.ceil(low / step) * step, int(high) + 1, step)
    return {time: f"{datetime.fromtimestamp(time, UTC):{'%H:%M' if time % (24 * HOUR) else '%b %d'}}" for time in times}


def _at(*values: float) -> str:
    return ",".join(f"{value:.1f}".removesuffix(".0") for value in values)


class Frame:
    """A chart with its axes. What is beyond the ends of an axis is drawn at the end."""

    def __init__(
        self,
        axis: Axis,
        ends: tuple[float, float],
        up: Axis,
        span: tuple[float, float],
        box: tuple[int, int],
        markers: int = 0,
    ):
        self.axis, self.ends, self.up, self.span, self.box = axis, ends, up, span, box
        beside = up.ticks(*span, 5)
        self.left = 10 + CHARACTER * max(map(len, beside.values()))
        self.right, self.top, self.bottom = box[0] - 12, 24 + LINE * markers if up.title else 6, box[1] - BASE
        self.parts = [f'<text y="12" fill="{palette()["soft"]}">{escape(up.title)}</text>'] if up.title else []
        room = ROOM if axis.kind in ("sizes", "clock") else max(40, 10 + CHARACTER * len(number(round(ends[1]))))
        below = axis.ticks(*ends, max(2, int((self.right - self.left) / room)))
        grid = "".join(f"M{_at(self.left, self.y(value))}H{_at(self.right)}" for value in beside)
        if up.names:
            grid = "".join(f"M{_at(self.x(value), self.top)}V{_at(self.bottom)}" for value in below)
        self.parts.append(f'<path d="{grid}" stroke="{palette()["grid"]}"/>')
        self._labels("end", ((self.left - 6, self.y(value) + 4, text) for value, text in beside.items()))
        base = "".join(f"M{_at(self.x(value), self.bottom)}v5" for value in below)
        self.parts.append(
            f'<path d="M{_at(self.left, self.bottom)}H{_at(self.right)}{base}" stroke="{palette()["line"]}"/>'
        )
        # Half of a label at an end must fit.
        inside = ((min(self.x(v), box[0] - CHARACTER * len(text) / 2), text) for v, text in below.items())
        self._labels("middle", ((x, self.bottom + 17, text) for x, text in inside))
        self._labels("middle", [((self.left + self.right) / 2, box[1] - 4, axis.title)])

    def x(self, value: float) -> float:
        return self.left + (self.right - self.left) * self.axis.part(value, *self.ends)

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * self.up.part(value, *self.span)

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

    def marks(self, line: Line, place: int) -> None:
        """Draws a shape at each point with a text, and a small dot at each other one."""
        colour = palette()[line.colour]
        dots = "".join(f"M{_at(self.x(p.x), self.y(p.y))}h0" for p in line.points if not p.text)
        self.parts.append(f'<path d="{dots}" stroke="{colour}" stroke-width="3" stroke-linecap="round" opacity=".4"/>')
        shape = SHAPES[place % len(SHAPES)]
        shapes = "".join(
            f'<path d="M{_at(self.x(p.x), self.y(p.y))}{shape}"><title>{escape(p.text)}</title></path>'
            for p in line.points
            if p.text
        )
        self.parts.append(f'<g fill="{colour}" fill-opacity=".75">{shapes}</g>')

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
    lines: Sequence[Line],
    axis: Axis,
    unit: str,
    markers: dict[str, float],
    name: str,
    box: tuple[int, int],
    marks: Sequence[Line] = (),
) -> Markup:
    """Draws lines with the bands of their intervals, markers at values of x, and marks."""
    points = [point for line in (*lines, *marks) for point in line.points]
    highest = max(point.y for point in points)
    # Where nearly nothing is known, an interval would leave no room for the line.
    most = min(max(point.high or point.y for point in points), 3 * highest) or highest
    across = [point.x for point in points]
    frame = Frame(axis, (min(across), max(across)), Axis(unit), (0, most or 1), box, len(markers))
    for place, line in enumerate(lines):
        frame.line(line, DASHES[place % len(DASHES)])
    for place, line in enumerate(marks):
        frame.marks(line, place)
    for place, (text, value) in enumerate(markers.items()):
        if min(across) <= value <= max(across):
            frame.mark(place, value, text)
    return frame.svg(name)


def rows_box(names: Sequence[str]) -> tuple[int, int]:
    return (SMALL[0], 6 + ROW * len(names) + BASE)


def dots(lines: Sequence[Line], axis: Axis, up: Axis, name: str, box: tuple[int, int] | None = None) -> Markup:
    """Draws marks, over numbers or in rows."""
    across, values = zip(*((point.x, point.y) for line in lines for point in line.points), strict=True)
    frame = Frame(axis, axis.ends(across), up, up.ends(values), box or rows_box(up.names))
    for place, line in enumerate(lines):
        frame.marks(line, place)
    return frame.svg(name)


def stacks(lines: Sequence[Line], axis: Axis, names: Sequence[str], name: str, form: Callable[[float], str]) -> Markup:
    """Draws a bar in each row: a part for each point, as long as its x, in the row of its y.

    A part has its label inside if it fits, or beside it if it is alone. An interval is a line from end to end.
    """
    ends = [sum(point.x for line in lines for point in line.points if point.y == row) for row in range(len(names))]
    most = max(*ends, *(point.high or 0 for line in lines for point in line.points)) or 1
    rows = Axis(names=names)
    frame = Frame(axis, (0, most), rows, rows.ends(()), rows_box(names))
    begun = [0.0] * len(names)
    for line in lines:
        for point in line.points:
            row = int(point.y)
            if not point.x and ends[row]:
                continue
            left, y, label = frame.x(begun[row]), frame.y(row), form(point.x)
            begun[row] += point.x
            right = frame.x(begun[row])
            frame.parts.append(
                f'<path d="M{_at(left, y - 10)}h{_at(max(right - left - 1, 0.5))}v20H{_at(left)}z" '
                f'fill="{palette()[line.colour]}"><title>{escape(point.text)}</title></path>'
            )
            beyond = right
            if point.low is not None and point.high is not None and point.low < point.high:
                beyond = frame.x(point.high)
                interval = f"M{_at(frame.x(point.low), y + 8)}H{_at(beyond)}"
                frame.parts.append(f'<path d="{interval}" stroke="{palette()["ink"]}" stroke-width="2"/>')
            room = CHARACTER * len(label)
            if room <= right - left:
                colour = "ink" if line.colour in ("s0", "s1", "s2") else "paper"  # on light colours, dark
                where = f'x="{_at((left + right) / 2)}" text-anchor="middle"'
            elif point.x == ends[row] and beyond + 4 + room <= frame.box[0]:
                where, colour = f'x="{_at(beyond + 4)}"', "ink"
            else:
                continue
            frame.parts.append(f'<text {where} y="{_at(y + 4)}" fill="{palette()[colour]}">{escape(label)}</text>')
    return frame.svg(name)


def bars(
    groups: Mapping[str, Sequence[tuple[float, float, float]]], axis: Axis, unit: str, name: str, box: tuple[int, int]
) -> Markup:
    """Draws bars by colour, each from x to an end."""
    found = [bar for group in groups.values() for bar in group]
    ends = (min(bar[0] for bar in found), max(bar[1] for bar in found))
    frame = Frame(axis, ends, Axis(unit), (0, max(bar[2] for bar in found) or 1), box)
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
    frame = Frame(axis, (rows[0][0], rows[-1][0]), Axis(unit), (0, 100), SMALL)
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


def samples(entries: Sequence[tuple[str, str]], kind: str) -> list[tuple[str, str]]:
    """Returns the names of colours, each with a sample of 24 x 12: of an area, a line or a mark."""
    found = []
    for place, (name, colour) in enumerate(entries):
        path, style = "M5,6H19", f'stroke="{palette()[colour]}" stroke-width="12"'
        if kind == "line":
            dash = DASHES[place % len(DASHES)]
            path, style = "M0,6H24", f'stroke="{palette()[colour]}" stroke-dasharray="{dash}" stroke-width="3"'
        elif kind == "mark":
            path, style = f"M12,6{SHAPES[place % len(SHAPES)]}", f'fill="{palette()[colour]}"'
        found.append((name, f'<path d="{path}" {style}/>'))
    return found
