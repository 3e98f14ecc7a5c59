"""Builders of Vega-Lite specifications: lines, bars, stacks, dots. They know nothing of experiments.

Colours are CSS variables of the page, so that light, dark and print come from one place; every series also
has a shape and a dash of its own, for those who do not see colours and for black-and-white print.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]
Row = dict[str, Any]

COLOURS = [f"var(--c{i})" for i in range(1, 7)]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 2]]
# Large numbers as 20k, small ones as they are.
LABEL = "abs(datum.value) >= 10000 ? format(datum.value, '~s') : format(datum.value, ',~r')"
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
    """A title with its unit, and what kind of scale. `order` makes it a list of names in that order."""

    title: str
    order: tuple[Any, ...] | None = None
    log: bool = False
    zero: bool = True

    def channel(self, field: str) -> Spec:
        if self.order is not None:
            return {
                "field": field,
                "type": "ordinal",
                "sort": list(self.order),
                "title": self.title,
                # A pool's name and its size stand below each other.
                "axis": {"labelAngle": 0, "labelExpr": "split(replace(datum.label, ')', ''), ' (')"},
            }
        scale: Spec = {"type": "log"} if self.log else {"zero": self.zero, "nice": True}
        axis: Spec = {"tickCount": 6}
        if not self.log:
            axis["labelExpr"] = LABEL
        return {"field": field, "type": "quantitative", "title": self.title, "scale": scale, "axis": axis}


@dataclass(frozen=True)
class Series:
    """Names of the series with the place of each in the palette, so that a pool keeps its colour everywhere."""

    names: tuple[str, ...]
    places: tuple[int, ...] = ()

    def _range(self, palette: Sequence[Any]) -> list[Any]:
        places = self.places or tuple(range(len(self.names)))
        return [palette[place % len(palette)] for place in places]

    def colour(self) -> Spec:
        return self._channel(COLOURS)

    def shape(self) -> Spec:
        return self._channel(SHAPES)

    def dash(self) -> Spec:
        return self._channel(DASHES)

    def _channel(self, palette: Sequence[Any]) -> Spec:
        scale = {"domain": list(self.names), "range": self._range(palette)}
        channel: Spec = {"field": "series", "type": "nominal", "scale": scale, "sort": list(self.names)}
        if len(self.names) < 2:
            channel["legend"] = None
        return channel


def _base(rows: Sequence[Row], height: int) -> Spec:
    longest = max((len(str(row["series"])) for row in rows), default=0)
    return {
        "usermeta": {"longest": longest},  # for the page, which knows its width
        "data": {"values": list(rows)},
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": CONFIG,
    }


def _tooltip(x: Axis, y: Axis, extra: Sequence[str] = ()) -> list[Spec]:
    kind = "nominal" if x.order is not None else "quantitative"
    tips = [
        {"field": "series", "type": "nominal", "title": "series"},
        {"field": "x", "type": kind, "title": x.title},
        {"field": "y", "type": "quantitative", "title": y.title, "format": ",.4~r"},
    ]
    return tips + [{"field": name, "type": "quantitative", "title": name, "format": ",.4~r"} for name in extra]


def lines(rows: Sequence[Row], x: Axis, y: Axis, series: Series, height: int = 260, points: bool = True) -> Spec:
    """Rows: x, y, series, and low and high where trials differ."""
    encoding = {"x": x.channel("x"), "y": y.channel("y"), "color": series.colour()}
    layers: list[Spec] = []
    if any(row.get("low") != row.get("high") for row in rows):
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.low) && datum.low != datum.high"}],
                "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.6},
                "encoding": {"y": {"field": "low", "type": "quantitative", "title": y.title}, "y2": {"field": "high"}},
            }
        )
    layers.append({"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"strokeDash": series.dash()}})
    if points:
        layers.append(
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                "encoding": {"shape": series.shape(), "tooltip": _tooltip(x, y, ("low", "high"))},
            }
        )
    return {**_base(rows, height), "encoding": encoding, "layer": layers}


def dots(rows: Sequence[Row], x: Axis, y: Axis, series: Series, height: int = 260, size: int = 60) -> Spec:
    """One mark a row; with an ordered axis the series stand side by side."""
    encoding: Spec = {
        "x": x.channel("x"),
        "y": y.channel("y"),
        "color": series.colour(),
        "shape": series.shape(),
        "tooltip": _tooltip(x, y),
    }
    if len(series.names) > 1:
        if x.order is not None:
            encoding["xOffset"] = {"field": "series", "sort": list(series.names)}
        elif y.order is not None:
            encoding["yOffset"] = {"field": "series", "sort": list(series.names)}
    return {
        **_base(rows, height),
        "mark": {"type": "point", "filled": True, "size": size, "opacity": 0.75},
        "encoding": encoding,
    }


def proportional_line(rows: Sequence[Row], x: Axis, y: Axis, series: Series, height: int = 260) -> Spec:
    """Dots of all trials, and for each series a line from zero with the median of their slopes, deaf to outliers."""
    ends: list[Row] = []
    for name in series.names:
        points = [(row["x"], row["y"]) for row in rows if row["series"] == name and row["x"]]
        if points:
            slope = statistics.median(cost / amount for amount, cost in points)
            widest = max(amount for amount, _ in points)
            ends += [{"x": 0, "y": 0, "series": name}, {"x": widest, "y": slope * widest, "series": name}]
    dot = dots(rows, x, y, series, height)
    layers = [
        {
            "data": {"values": ends},
            "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.8},
            "encoding": {
                "x": x.channel("x"),
                "y": y.channel("y"),
                "color": series.colour(),
                "strokeDash": series.dash(),
            },
        },
        {"mark": dot["mark"], "encoding": dot["encoding"]},
    ]
    return {**_base(rows, height), "layer": layers}


def bars(rows: Sequence[Row], x: Axis, y: Axis, series: Series, height: int = 260) -> Spec:
    """Bars side by side, the figure on top of each, a rule from the lowest to the highest trial."""
    rows = [{**row, "top": max(row["y"], row.get("high", row["y"]))} for row in rows]
    encoding: Spec = {"x": x.channel("x"), "y": y.channel("y")}
    if len(series.names) > 1:
        encoding["xOffset"] = {"field": "series", "sort": list(series.names)}
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "stroke": "var(--ink)", "strokeWidth": 0.5, "cornerRadiusEnd": 2},
            "encoding": {"color": series.colour(), "tooltip": _tooltip(x, y)},
        },
        {
            "mark": {"type": "text", "dy": -6, "baseline": "bottom", "fontSize": 11, "fill": "var(--ink)"},
            "encoding": {
                "y": {"field": "top", "type": "quantitative", "title": y.title},
                "text": {"field": "label", "type": "nominal"},
            },
        },
    ]
    if any(row.get("low") != row.get("high") for row in rows):
        layers.append(
            {
                "mark": {"type": "rule", "stroke": "var(--ink)", "strokeWidth": 1.5},
                "encoding": {"y": {"field": "low", "type": "quantitative", "title": y.title}, "y2": {"field": "high"}},
            }
        )
    return {**_base(rows, height), "encoding": encoding, "layer": layers}


def stacks(rows: Sequence[Row], x: Axis, y: Axis, series: Series, bar: int = 30) -> Spec:
    """Horizontal stacked bars; a part that is wide enough carries its own figure, dark parts in light letters."""
    assert y.order is not None
    stack = {**x.channel("x"), "stack": "zero"}
    encoding = {"y": {**y.channel("y"), "title": None}, "order": {"field": "place", "type": "quantitative"}}
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "stroke": "var(--paper)", "strokeWidth": 1.5},
            "encoding": {
                "x": stack,
                "color": series.colour(),
                "tooltip": [
                    {"field": "y", "type": "nominal", "title": "bar"},
                    {"field": "series", "type": "nominal", "title": "part"},
                    {"field": "x", "type": "quantitative", "title": x.title, "format": ",.4~r"},
                ],
            },
        },
        {
            "transform": [{"filter": "datum.wide"}],
            "mark": {"type": "text", "fontSize": 11, "fontWeight": "bold", "fill": "var(--paper)"},
            "encoding": {
                "x": {**stack, "bandPosition": 0.5},
                "text": {"field": "label", "type": "nominal"},
                "detail": {"field": "series", "type": "nominal"},
            },
        },
    ]
    return {**_base(rows, bar * len(y.order) + 20), "encoding": encoding, "layer": layers}
