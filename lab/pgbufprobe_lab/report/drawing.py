"""Draws samples: medians over x, single trials, and parts of a whole. Without samples, there is no chart."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.medians import Samples, Summary, by_trial, grouped, pick
from pgbufprobe_lab.sizes import GB
from pgbufprobe_page import Legend, Picture
from pgbufprobe_page.formatting import number, size
from pgbufprobe_page.svg import NARROW, SMALL, WIDE, Axis, Line, Point, curve, dots, stacks

COLOURS = ("c1", "c2", "c3", "c4", "c5", "c6")

Charts = list[Picture]


def legend(lines: Iterable[Line], kind: str) -> Legend:
    return Legend(tuple((line.name, line.colour) for line in lines), kind)


def pools(samples: Samples) -> dict[str, str]:
    """Returns the labels of the pools that were measured."""
    sizes = derive.pool_sizes(samples)
    return {pool: f"{pool} ({size(sizes[pool])})" for pool in derive.POOLS if pool in sizes}


def chart_of_lines(
    title: str,
    caption: str,
    lines: Sequence[Line],
    axis: Axis,
    unit: str,
    wide: bool = False,
    marks: Sequence[Line] = (),
) -> Charts:
    if not lines:
        return []
    drawn = tuple(curve(lines, axis, unit, {}, title, box, marks) for box in ((WIDE, NARROW) if wide else (SMALL,)))
    return [Picture(title, caption, drawn, legend(lines, "line"))]


def lines_of(groups: Mapping[str, Samples], factor: float = 1.0, colours: Sequence[str] = COLOURS) -> list[Line]:
    """Returns the medians over x of each group, with the lowest and the highest trial."""
    lines = []
    for (name, samples), colour in zip(groups.items(), colours, strict=False):
        found = ((x, summary.scaled(factor)) for x, summary in grouped(samples, "x").items())
        points = [Point(x, s.median, s.low, s.high, f"{name}, {number(x)}: {number(s.median)}") for x, s in found]
        lines += [Line(name, colour, points)] if points else []
    return lines


def colour_of(pool: str) -> str:
    """Returns the colour of a pool in all charts."""
    return COLOURS[derive.POOLS.index(pool)]


def lines_of_pools(samples: Samples, factor: float = 1.0) -> list[Line]:
    named = pools(samples)
    groups = {label: pick(samples, pool=pool) for pool, label in named.items()}
    return lines_of(groups, factor, [colour_of(pool) for pool in named])


def proportional(title: str, groups: Mapping[str, Samples], unit: str) -> Charts:
    """Returns a mark for each trial over the size of the pool, and for each group a line with the median slope."""
    marks, lines = [], []
    for (name, samples), colour in zip(((n, s) for n, s in groups.items() if s), COLOURS, strict=False):
        points = [(s["pool_bytes"] / GB, s["value"]) for s in samples if s["pool_bytes"]]
        texts = [f"{name}, {number(x)} GB: {number(y)} ms" for x, y in points]
        marks.append(Line(name, colour, [Point(*point, text=text) for point, text in zip(points, texts, strict=True)]))
        widest, slope = max(x for x, _ in points), statistics.median(y / x for x, y in points)
        lines.append(Line(name, colour, [Point(0, 0), Point(widest, slope * widest)]))
    caption = (
        "Each mark is one trial. Each line is the median cost per GB; marks on the line mean that the cost is "
        "proportional to the pool."
    )
    return chart_of_lines(title, caption, lines, Axis("pool (GB)"), unit, marks=marks)


def rows_of_trials(
    title: str, caption: str, axis: Axis, found: Mapping[str, Mapping[str, Samples]], factor: float = 1.0
) -> Charts:
    """Returns a row for each name, with a mark for each trial. If there are several series, each is a little lower."""
    rows = {name: series for name, series in found.items() if any(series.values())}
    if not rows:
        return []
    names = list(dict.fromkeys(name for series in rows.values() for name in series))
    lines = []
    for place, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
        lower = 0.3 * (place - (len(names) - 1) / 2)
        points = []
        for row, (label, series) in enumerate(rows.items()):
            values = [factor * median for median in by_trial(series.get(name, ())).values()]
            points += [Point(value, row + lower, text=f"{label}: {number(value)}") for value in values]
        lines.append(Line(name, colour, points))
    drawn = dots(lines, axis, Axis(names=tuple(rows)), title)
    return [Picture(title, caption, (drawn,), legend(lines, "mark"))]


def rows_of_parts(
    title: str,
    caption: str,
    axis: Axis,
    found: Mapping[str, Mapping[str, Summary | None]],
    colours: Sequence[str] = COLOURS,
    form: Callable[[float], str] = number,
) -> Charts:
    """Returns a bar for each name. If it has one part alone, it also shows the lowest and the highest trial."""
    rows = {
        name: {part: summary for part, summary in parts.items() if summary}
        for name, parts in found.items()
        if any(parts.values())
    }
    if not rows:
        return []
    lines = []
    for name, colour in zip(dict.fromkeys(name for parts in found.values() for name in parts), colours, strict=False):
        points = []
        for row, (label, parts) in enumerate(rows.items()):
            if summary := parts.get(name):
                ends = (summary.low, summary.high) if len(parts) == 1 else (None, None)
                points.append(Point(summary.median, row, *ends, text=f"{label}, {name}: {form(summary.median)}"))
        if points:
            lines.append(Line(name, colour, points))
    return [Picture(title, caption, (stacks(lines, axis, tuple(rows), title, form),), legend(lines, "area"))]


def percent(value: float) -> str:
    return f"{value:.0f} %"
