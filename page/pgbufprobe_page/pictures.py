"""Draws charts as SVG files, in the light colours of the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from pgbufprobe_page.model import Chart, Spec, spec_text
from pgbufprobe_page.page import asset

WIDTH = 720


def prepared(spec: Spec) -> Spec:
    """Applies what page.css and page.js do in the page."""
    light = asset("page.css").split("@media")[0]
    colours = dict(re.findall(r"(--[\w-]+): (#\w+);", light))
    spec = json.loads(re.sub(r"var\((--[\w-]+)\)", lambda match: colours[match[1]], spec_text(spec)))
    columns = int(WIDTH / (45 + 6.5 * spec["usermeta"]["longest"]))
    spec["config"]["legend"]["columns"] = max(1, min(3, columns))
    spec["config"] |= {"background": colours["--paper"], "aria": False}
    return spec | {"width": WIDTH}


def compact(svg: str) -> str:
    """Rounds coordinates to tenths of a pixel, and puts each element on its own line for comparisons."""
    tag = re.compile(r"<[^>]+>")
    return tag.sub(lambda match: re.sub(r"(\.\d)\d+", r"\1", match[0]), svg).replace("><", ">\n<") + "\n"


def draw(charts: Iterable[Chart], folder: Path) -> None:
    """Writes one file for each chart, and removes the charts of an earlier run."""
    import vl_convert

    folder.mkdir(exist_ok=True)
    for old in folder.glob("chart-*.svg"):
        old.unlink()
    for chart in charts:
        svg = compact(vl_convert.vegalite_to_svg(prepared(chart.spec)))
        (folder / f"{chart.name}.svg").write_text(svg, encoding="utf-8")
