"""The report over a folder of results: report.html, and report.md with its pictures."""

from __future__ import annotations

from pathlib import Path

from pgbufprobe_lab.analysis.load import read_results
from pgbufprobe_lab.report import html, markdown
from pgbufprobe_lab.report.assemble import assemble


def write_report(outdir: Path) -> tuple[Path, Path]:
    """Writes the report into the folder of results. Returns its two paths."""
    outdir = Path(outdir)
    report = assemble(read_results(outdir))
    page, text = outdir / "report.html", outdir / "report.md"
    folder = outdir / markdown.PICTURES
    folder.mkdir(exist_ok=True)
    for old in folder.glob("chart-*.svg"):
        old.unlink()
    for section in report.sections:
        for name, chart in section.files.items():
            (folder / name).write_text(chart.file(), encoding="utf-8")
    text.write_text(markdown.render(report), encoding="utf-8")
    page.write_text(html.render(report), encoding="utf-8")
    return page, text
