"""Writes the report as Markdown: the same tables and verdicts, with the charts as pictures."""

from __future__ import annotations

import re

from pgbufprobe_lab.report.html import TITLE
from pgbufprobe_lab.report.model import Report, Section
from pgbufprobe_page.formatting import MISSING
from pgbufprobe_page.model import Table

PICTURES = "pictures"


def text(value: str) -> str:
    """Returns one line of plain text, with all markup escaped."""
    value = re.sub(r"\s+", " ", value)
    value = re.sub(r"([\\`*_\[\]|~])", r"\\\1", value)
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", value)


def _table(table: Table) -> list[str]:
    widths = [
        max(3, *(len(text(cells[i])) for cells in (table.columns, *table.rows))) for i in range(len(table.columns))
    ]

    def line(cells: tuple[str, ...]) -> str:
        padded = (
            text(cell).rjust(width) if numeric else text(cell).ljust(width)
            for cell, width, numeric in zip(cells, widths, table.numeric, strict=True)
        )
        return "| " + " | ".join(padded) + " |"

    rule = (
        "|"
        + "|".join(
            "-" * (width + 1) + (":" if numeric else "-") for width, numeric in zip(widths, table.numeric, strict=True)
        )
        + "|"
    )
    return [f"{text(table.caption)}:", "", line(table.columns), rule, *(line(row) for row in table.rows), ""]


def _section(section: Section) -> list[str]:
    experiment, source = section.experiment, section.experiment.source
    lines = [
        f"## {experiment.name}: {text(experiment.title)}",
        "",
        f"**{text(experiment.asks)}** {text(experiment.means)}",
        "",
        f"Published: {text(source.title)}, {source.published} ({text(source.machine)}).",
        "",
    ]
    if section.problem:
        lines += [f"> {text(section.problem)}", ""]
    for name, chart in section.files.items():
        title = text(chart.title)
        lines += [f"**{title}**: {text(chart.caption)}", "", f"![{title}]({PICTURES}/{name})", ""]
    for verdict in section.verdicts:
        lines += [
            f"- **{verdict.outcome}**: {text(verdict.finding)} Here: {text(verdict.why)}. (Rule: {text(verdict.rule)}.)"
        ]
    if section.verdicts:
        lines.append("")
    for table in section.tables:
        lines += _table(table)
    return lines


def _overview(report: Report) -> list[str]:
    rows: list[tuple[str, ...]] = []
    for section in report.entries:
        name = f"{section.experiment.name} {section.experiment.title}"
        if not section.verdicts:
            rows.append((name, section.result.status, section.experiment.finding, MISSING))
        rows += [(name, section.result.status, verdict.finding, verdict.outcome) for verdict in section.verdicts]
    columns = ("Experiment", "Status", "Published finding", "Here")
    return _table(Table("All findings", columns, tuple(rows), (False,) * 4))


def render(report: Report) -> str:
    lines = [f"# {TITLE}", "", f"**{text(report.conclusion.headline)}**", ""]
    lines += [f"- {text(reason)}" for reason in report.conclusion.reasons]
    lines += ["", f"Rule: {text(report.conclusion.rule)}.", ""]
    lines += [f"- {text(name)}: {text(value)}" for name, value in report.facts]
    lines += ["", *_overview(report)]
    for section in report.sections:
        lines += _section(section)
    return "\n".join(lines).rstrip() + "\n"
