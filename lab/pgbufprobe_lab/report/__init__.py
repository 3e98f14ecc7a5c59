"""From a folder of results to report.html and report.md with its pictures."""

from __future__ import annotations

from pathlib import Path


def write_report(outdir: Path) -> tuple[Path, Path]:
    """Writes them into the folder that holds the results, and says where the two are."""
    # Late, so that the small modules of this package can be used without the drawing library.
    from pgbufprobe_lab.report import build, html, markdown, pictures
    from pgbufprobe_lab.report.load import read_results

    report = build.build(read_results(Path(outdir)))
    page, text = Path(outdir) / "report.html", Path(outdir) / "report.md"
    pictures.draw(report, Path(outdir))
    text.write_text(markdown.render(report), encoding="utf-8")
    page.write_text(html.render(report, html.vega_bundle()), encoding="utf-8")
    return page, text
