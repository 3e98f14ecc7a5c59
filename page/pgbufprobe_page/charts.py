"""Builds charts of Vega-Lite: lines, bars, stacks, dots. Rows are dictionaries with x, y, series and what a function
names.

Colours are CSS variables of the page, which defines them for light, dark and print. Each series also has its own
shape and dash, for readers who cannot distinguish the colours and for black-and-white print.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt
from altair.utils import schemapi

from pgbufprobe_page.model import Spec

# Tests validate the charts. To do so for each chart of each page would take most of the time.
schemapi.DEBUG_MODE = False

Row = dict[str, Any]

COLOURS = [f"var(--c{i})" for i in range(1, 7)]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 2]]
# Large numbers as 20k, small ones in full.
LABEL = "abs(datum.value) >= 10000 ? format(datum.value, '~s') : format(datum.value, ',~r')"
# Break the line between a pool's name and its size.
NAME_LABEL = "split(replace(datum.label, ')', ''), ' (')"
FIGURE = ",.4~r"
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif'
CONFIG: Spec = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--soft)",
        "titleColor": "var(--ink)",
        "gridColor": "var(--grid)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelOverlap": True,
        "labelLimit": 150,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--soft)",
        "orient": "top",
        "direction": "horizontal",
        "labelFontSize": 12,
        "title": None,
        "symbolSize": 90,
        "labelLimit": 300,
        "columns": 3,
    },
}


@dataclass(frozen=True)
class Axis:
    """A title with its unit, and the scale. With `order`, the axis shows these names in this order."""

    title: str
    order: tuple[Any, ...] | None = None
    log: bool = False
    zero: bool = True

    def channel(self, kind: type, **options: Any) -> Any:
        """Returns the channel alt.X or alt.Y of this axis."""
        field = kind.__name__.lower()
        if self.order is not None:
            axis = alt.Axis(labelAngle=0, labelExpr=NAME_LABEL)
            return kind(f"{field}:O", **{"sort": list(self.order), "title": self.title, "axis": axis} | options)
        scale = alt.Scale(type="log") if self.log else alt.Scale(zero=self.zero, nice=True)
        axis = alt.Axis(tickCount=6) if self.log else alt.Axis(tickCount=6, labelExpr=LABEL)
        return kind(f"{field}:Q", **{"title": self.title, "scale": scale, "axis": axis} | options)


@dataclass(frozen=True)
class Series:
    """Names of the series, and the position of each in the palette: a pool has the same colour in all charts."""

    names: tuple[str, ...]
    places: tuple[int, ...] = ()

    def channel(self, kind: type, palette: Sequence[Any]) -> Any:
        places = self.places or tuple(range(len(self.names)))
        scale = alt.Scale(domain=list(self.names), range=[palette[place % len(palette)] for place in places])
        legend = {"legend": None} if len(self.names) < 2 else {}
        return kind("series:N", scale=scale, sort=list(self.names), **legend)

    def colour(self) -> alt.Color:
        return self.channel(alt.Color, COLOURS)

    def shape(self) -> alt.Shape:
        return self.channel(alt.Shape, SHAPES)

    def dash(self) -> alt.StrokeDash:
        return self.channel(alt.StrokeDash, DASHES)

    def side_by_side(self, kind: type) -> list[Any]:
        """Returns an offset for each series, if there are several."""
        return [kind("series:N", sort=list(self.names))] if len(self.names) > 1 else []


ROWS = "rows:"


def _chart(name: str = "") -> alt.Chart:
    """Returns a chart of rows that _spec fills in, so that charts that differ in rows alone are made once."""
    return alt.Chart(alt.NamedData(name=ROWS + name))


def _shape(chart: alt.Chart | alt.LayerChart, height: int) -> Spec:
    """Returns the specification of a chart without its rows."""
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    spec: Spec = chart.properties(width="container", height=height, autosize=fit).to_dict(validate=False)
    del spec["$schema"]  # an address
    return spec | {"config": CONFIG}


def _filled(part: Any, rows: dict[str, Sequence[Row]]) -> Any:
    """Returns a part of a specification with its rows in place."""
    if isinstance(part, dict):
        name = part.get("name", "")
        if name.startswith(ROWS):
            return {"values": list(rows[name.removeprefix(ROWS)])}
        return {key: _filled(value, rows) for key, value in part.items()}
    return [_filled(each, rows) for each in part] if isinstance(part, list) else part


def _spec(shape: Spec, rows: Sequence[Row], **others: Sequence[Row]) -> Spec:
    longest = max((len(str(row["series"])) for row in rows), default=0)
    filled: Spec = _filled(shape, {"": rows} | others)
    return filled | {"usermeta": {"longest": longest}}  # page.js needs it for the legend


def _tooltip(x: Axis, y: Axis, extra: Sequence[str] = ()) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("x:Q" if x.order is None else "x:N", title=x.title),
        alt.Tooltip("y:Q", title=y.title, format=FIGURE),
        *(alt.Tooltip(f"{name}:Q", title=name, format=FIGURE) for name in extra),
    ]


def _spread(base: alt.Chart, y: Axis, **mark: Any) -> list[alt.Chart]:
    """Returns a rule from the lowest to the highest trial."""
    rule = base.mark_rule(strokeWidth=1.5, **mark)
    return [rule.encode(alt.Y("low:Q", title=y.title), alt.Y2("high"))]


def _differ(rows: Sequence[Row]) -> bool:
    return any(row.get("low") != row.get("high") for row in rows)


@cache
def _lines(x: Axis, y: Axis, series: Series, height: int, differ: bool) -> Spec:
    base = _chart().encode(x.channel(alt.X), y.channel(alt.Y), series.colour())
    spread = base.transform_filter("isValid(datum.low) && datum.low != datum.high")
    points = base.mark_point(filled=True, size=70, opacity=1)
    layers = _spread(spread, y, opacity=0.6) if differ else []
    layers.append(base.mark_line(strokeWidth=2).encode(series.dash()))
    layers.append(points.encode(series.shape(), tooltip=_tooltip(x, y, ("low", "high"))))
    return _shape(alt.layer(*layers), height)


def lines(rows: Sequence[Row], x: Axis, y: Axis, series: Series, height: int = 260) -> Spec:
    """Rows have low and high if trials differ."""
    return _spec(_lines(x, y, series, height, _differ(rows)), rows)


def _dots(x: Axis, y: Axis, series: Series, size: int) -> alt.Chart:
    chart = _chart().mark_point(filled=True, size=size, opacity=0.75)
    chart = chart.encode(x.channel(alt.X), y.channel(alt.Y), series.colour(), series.shape(), tooltip=_tooltip(x, y))
    if x.order is not None:
        return chart.encode(*series.side_by_side(alt.XOffset))
    if y.order is not None:
        return chart.encode(*series.side_by_side(alt.YOffset))
    return chart


def dots(rows: Sequence[Row], x: Axis, y: Axis, series: Series, height: int = 260, size: int = 60) -> Spec:
    """Draws one mark for each row. On an ordered axis, the series are side by side."""
    return _spec(_shape(_dots(x, y, series, size), height), rows)


def proportional_line(rows: Sequence[Row], x: Axis, y: Axis, series: Series, height: int = 260) -> Spec:
    """Draws a dot for each trial, and for each series a line from zero with the median slope."""
    ends: list[Row] = []
    for name in series.names:
        points = [(row["x"], row["y"]) for row in rows if row["series"] == name and row["x"]]
        if points:
            slope = statistics.median(cost / amount for amount, cost in points)
            widest = max(amount for amount, _ in points)
            ends += [{"x": 0, "y": 0, "series": name}, {"x": widest, "y": slope * widest, "series": name}]
    line = _chart("ends").mark_line(strokeWidth=1.5, opacity=0.8)
    line = line.encode(x.channel(alt.X), y.channel(alt.Y), series.colour(), series.dash())
    return _spec(_shape(alt.layer(line, _dots(x, y, series, 60)), height), rows, ends=ends)


@cache
def _bars(x: Axis, y: Axis, series: Series, height: int, differ: bool) -> Spec:
    base = _chart().encode(x.channel(alt.X), y.channel(alt.Y), *series.side_by_side(alt.XOffset))
    bar = base.mark_bar(stroke="var(--ink)", strokeWidth=0.5, cornerRadiusEnd=2)
    label = base.mark_text(dy=-6, baseline="bottom", fontSize=11, fill="var(--ink)")
    layers = [
        bar.encode(series.colour(), tooltip=_tooltip(x, y)),
        label.encode(alt.Y("top:Q", title=y.title), alt.Text("label:N")),
        *(_spread(base, y, stroke="var(--ink)") if differ else []),
    ]
    return _shape(alt.layer(*layers), height)


def bars(rows: Sequence[Row], x: Axis, y: Axis, series: Series, height: int = 260) -> Spec:
    """Draws bars side by side with their labels, and a rule from the lowest to the highest trial."""
    rows = [{**row, "top": max(row["y"], row.get("high", row["y"]))} for row in rows]
    return _spec(_bars(x, y, series, height, _differ(rows)), rows)


@cache
def _stacks(x: Axis, y: Axis, series: Series, height: int) -> Spec:
    base = _chart().encode(y.channel(alt.Y, title=None), alt.Order("place:Q"))
    part = base.mark_bar(stroke="var(--paper)", strokeWidth=1.5)
    # parts without a label must be there for the others to be in their places
    shown = alt.condition("datum.wide", alt.value(1), alt.value(0))
    label = base.mark_text(fontSize=11, fontWeight="bold", fill="var(--paper)")
    tooltip = [
        alt.Tooltip("y:N", title="bar"),
        alt.Tooltip("series:N", title="part"),
        alt.Tooltip("x:Q", title=x.title, format=FIGURE),
    ]
    layers = [
        part.encode(x.channel(alt.X, stack="zero"), series.colour(), tooltip=tooltip),
        label.encode(
            x.channel(alt.X, stack="zero", bandPosition=0.5), alt.Text("label:N"), alt.Detail("series:N"), opacity=shown
        ),
    ]
    return _shape(alt.layer(*layers), height)


def stacks(rows: Sequence[Row], x: Axis, y: Axis, series: Series, bar: int = 30) -> Spec:
    """Draws horizontal stacked bars in the order of `place`. Parts that are `wide` show their labels."""
    assert y.order is not None
    return _spec(_stacks(x, y, series, bar * len(y.order) + 20), rows)
