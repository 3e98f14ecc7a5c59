"""Draws the charts into files, for the report as Markdown: in the light colours of the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pgbufprobe_lab.report.charts import Spec
from pgbufprobe_lab.report.html import asset, chart_name
from pgbufprobe_lab.report.model import Report

FOLDER = "pictures"
WIDTH = 720


def prepared(spec: Spec) -> Spec:
    """What the page does by its style sheet and page.js."""
    light = asset("page.css").split("@media")[0]
    colours = dict(re.findall(r"(--[\w-]+): (#\w+);", light))
    spec = json.loads(re.sub(r"var\((--[\w-]+)\)", lambda match: colours[match[1]], json.dumps(spec)))
    columns = int(WIDTH / (45 + 6.5 * spec["usermeta"]["longest"]))
    spec["config"]["legend"]["columns"] = max(1, min(3, columns))
    spec["config"] |= {"background": colours["--paper"], "aria": False}
    return spec | {"width": WIDTH}


def compact(svg: str) -> str:
    """Tenths of a pixel are enough, and a line for each element lets versions be compared."""
    tag = re.compile(r"<[^>]+>")
    return tag.sub(lambda match: re.sub(r"(\.\d)\d+", r"\1", match[0]), svg).replace("><", ">\n<") + "\n"


def draw(report: Report, outdir: Path) -> None:
    import vl_convert

    folder = outdir / FOLDER
    folder.mkdir(exist_ok=True)
    for old in folder.glob("chart-*.svg"):
        old.unlink()
    for section in report.sections:
        for index, chart in enumerate(section.charts):
            svg = compact(vl_convert.vegalite_to_svg(prepared(chart.spec)))
            (folder / f"{chart_name(section, index)}.svg").write_text(svg, encoding="utf-8")
