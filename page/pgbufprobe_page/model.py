"""Tables and charts, independent of the page that shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from pgbufprobe_page.svg import CHARACTER, LINE, palette, samples, svg


@dataclass(frozen=True)
class Table:
    """Cells are plain text, and the first column names the row. `numeric` marks the columns with figures.

    On a narrow screen, a long table scrolls sideways, and others show the cells of a row below each other.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    failed: bool = False
    long: bool = False


@dataclass(frozen=True)
class Legend:
    """Names with their colours, for a chart of areas ("area"), lines ("line") or marks ("mark"). One needs none."""

    entries: tuple[tuple[str, str], ...] = ()
    kind: str = "area"

    def __html__(self) -> str:
        """Returns a paragraph, which the template includes as it is."""
        found = (
            f'<span><svg width="24" height="12" aria-hidden="true">{sample}</svg> {escape(name)}</span>'
            for name, sample in samples(self.entries, self.kind)
        )
        return f'<p class="legend">{" ".join(found)}</p>' if len(self.entries) > 1 else ""


@dataclass(frozen=True)
class Picture:
    """A chart that is drawn: in one size, or also in one for narrow screens."""

    title: str
    caption: str
    drawn: tuple[Markup, ...]
    legend: Legend

    @property
    def wide(self) -> bool:
        return len(self.drawn) > 1

    def file(self) -> str:
        """Returns the larger size as an SVG file, with the legend above it and one element on each line."""
        width, height = map(int, re.findall(r"\d+", self.drawn[0].split("viewBox")[1])[2:4])
        parts, x, y = [], 0, 0
        for name, sample in samples(self.legend.entries, self.legend.kind) if self.legend.entries[1:] else ():
            room = 40 + CHARACTER * len(name)
            if x + room > width:
                x, y = 0, y + LINE
            text = f'<text x="30" y="10" fill="{palette()["ink"]}">{escape(name)}</text>'
            parts.append(f'<g transform="translate({x + 8},{y + 8})">{sample}{text}</g>')
            x += room
        top = y + LINE + 14 if parts else 8
        parts.append(f'<g transform="translate(8,{top})">{self.drawn[0]}</g>')
        paper = f'<rect width="100%" height="100%" fill="{palette()["paper"]}"/>'
        return str(svg((width + 16, top + height + 8), self.title, [paper, *parts])).replace("><", ">\n<") + "\n"
