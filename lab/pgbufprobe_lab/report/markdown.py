"""Writes the report as Markdown, for terminals and commits: the same tables and verdicts, the charts as pictures."""

from __future__ import annotations

import re

from pgbufprobe_lab.report.format import MISSING
from pgbufprobe_lab.report.html import TITLE, chart_name
from pgbufprobe_lab.report.model import Report, Section, Table
from pgbufprobe_lab.report.pictures import FOLDER


def text(value: str) -> str:
    """One line of plain text: what a cell says is never taken for markup."""
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
    scenario = section.scenario
    lines = [
        f"## {scenario.name}: {text(scenario.title)}",
        "",
        f"**{text(scenario.asks)}** {text(scenario.means)}",
        "",
        f"Published: {text(scenario.source.title)}, {scenario.source.published} ({text(scenario.source.machine)}).",
        "",
    ]
    if section.trouble:
        lines += [f"> {text(section.trouble)}", ""]
    for index, chart in enumerate(section.charts):
        title = text(chart.title)
        picture = f"![{title}]({FOLDER}/{chart_name(section, index)}.svg)"
        lines += [f"**{title}**: {text(chart.caption)}", "", picture, ""]
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
    for section in report.sections:
        name = f"{section.scenario.name} {section.scenario.title}"
        if not section.verdicts:
            rows.append((name, section.result.status, section.scenario.finding, MISSING))
        rows += [(name, section.result.status, verdict.finding, verdict.outcome) for verdict in section.verdicts]
    columns = ("Experiment", "State", "Published finding", "Judged here")
    return _table(Table("All findings", columns, tuple(rows), (False,) * 4))


def render(report: Report) -> str:
    lines = [f"# {TITLE}", "", f"**{text(report.answer.headline)}**", ""]
    lines += [f"- {text(reason)}" for reason in report.answer.reasons]
    lines += ["", f"Rule: {text(report.answer.rule)}.", ""]
    lines += [f"- {text(name)}: {text(value)}" for name, value in report.facts]
    lines += [""] + _overview(report)
    for section in report.sections:
        lines += _section(section)
    return "\n".join(lines).rstrip() + "\n"
