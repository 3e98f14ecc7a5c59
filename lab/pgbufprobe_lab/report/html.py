"""Writes the report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import json
import re
from html import escape
from importlib import resources

from pgbufprobe_lab.report.format import MISSING
from pgbufprobe_lab.report.model import Chart, Report, Section, Table
from pgbufprobe_lab.report.rules import FAILS, HOLDS, Verdict

# Nothing may be fetched when the page is read; Vega compiles its expressions, hence unsafe-eval.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
TITLE = "What shared_buffers costs on this machine"


def asset(name: str) -> str:
    return resources.files("pgbufprobe_lab.report").joinpath(name).read_text(encoding="utf-8")


def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, from the Python package, without any download."""
    import vl_convert

    return vl_convert.javascript_bundle()


def script_text(text: str) -> str:
    """Script text that cannot end its own element."""
    return re.sub(r"<(/script|!--)", lambda match: "\\x3c" + match[1], text, flags=re.IGNORECASE)


def script_json(value: object) -> str:
    """JSON that is also safe inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return (
        text.replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def _badge(outcome: str) -> str:
    kind, sign = {HOLDS: ("holds", "✓"), FAILS: ("fails", "✗")}.get(outcome, ("open", "?"))
    return f'<span class="verdict {kind}">{sign} {escape(outcome)}</span>'


def _table(table: Table) -> str:
    head = "".join(
        f'<th scope="col"{" class=n" if numeric else ""}>{escape(column)}</th>'
        for column, numeric in zip(table.columns, table.numeric, strict=True)
    )
    body = []
    for row in table.rows:
        cells = [f'<th scope="row">{escape(row[0])}</th>']
        for column, numeric, cell in zip(table.columns[1:], table.numeric[1:], row[1:], strict=True):
            kind = ' class="n"' if numeric else ""
            cells.append(f'<td{kind} data-label="{escape(column)}">{escape(cell)}</td>')
        body.append(f"<tr{' class=failed' if table.failed else ''}>{''.join(cells)}</tr>")
    # Whoever has no mouse must be able to scroll as well.
    reach = f' tabindex="0" role="region" aria-label="{escape(table.caption)}"' if table.long else ""
    stack = " class=stack" if len(table.columns) > 3 and not table.long else ""
    return (
        f'<div class="scroll"{reach}><table{stack}>'
        f"<caption>{escape(table.caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _verdict(verdict: Verdict) -> str:
    return (
        f"<li>{_badge(verdict.outcome)} {escape(verdict.finding)}"
        f"<p>Here: {escape(verdict.why)}.</p>"
        f'<p class="soft">Rule: {escape(verdict.rule)}.</p></li>'
    )


def _chart(chart: Chart, name: str) -> str:
    return (
        f'<figure><h3>{escape(chart.title)}</h3><div class="chart" id="{name}" role="img" '
        f'aria-label="{escape(chart.title)}. {escape(chart.caption)}"></div>'
        f"<figcaption>{escape(chart.caption)}</figcaption></figure>"
    )


def chart_name(section: Section, index: int) -> str:
    return f"chart-{section.scenario.name}-{index}"


def _charts(section: Section) -> str:
    named = [(chart, chart_name(section, index)) for index, chart in enumerate(section.charts)]
    parts = []
    for wide in (True, False):
        figures = "".join(_chart(chart, name) for chart, name in named if chart.wide == wide)
        if figures:
            parts.append(f'<div class="charts{" wide" if wide else ""}">{figures}</div>')
    return "".join(parts)


def _section(section: Section) -> str:
    scenario = section.scenario
    parts = [
        f'<section id="{scenario.name}" aria-labelledby="h-{scenario.name}">',
        f'<h2 id="h-{scenario.name}"><span class="name">{scenario.name}</span>{escape(scenario.title)}</h2>',
        f'<p class="asks">{escape(scenario.asks)}</p><p>{escape(scenario.means)}</p>',
        f'<p class="source">Published: {escape(scenario.source.title)}, {escape(scenario.source.published)} '
        f"({escape(scenario.source.machine)}).</p>",
    ]
    if section.trouble:
        kind = "note" if section.result.status == "not run" else "warning"
        parts.append(f'<p class="{kind}" role="note">{escape(section.trouble)}</p>')
    parts.append(_charts(section))
    if section.verdicts:
        parts.append('<h3>Findings</h3><ul class="verdicts">')
        parts.extend(_verdict(verdict) for verdict in section.verdicts)
        parts.append("</ul>")
    parts.extend(_table(table) for table in section.tables)
    if section.details:
        tables = "".join(_table(table) for table in section.details)
        parts.append(f"<details><summary>All figures of {scenario.name}</summary>{tables}</details>")
    parts.append("</section>")
    return "".join(parts)


def _overview(report: Report) -> str:
    rows = []
    for section in report.sections:
        name = section.scenario.name
        badges = [f"<div>{_badge(verdict.outcome)} {escape(verdict.finding)}</div>" for verdict in section.verdicts]
        if not badges:
            badges = [f"<div>{MISSING}</div>"]
        rows.append(
            f'<tr><th scope="row"><a href="#{name}">{name} {escape(section.scenario.title)}</a></th>'
            f'<td data-label="State">{escape(section.result.status)}</td><td>{"".join(badges)}</td></tr>'
        )
    return (
        '<section id="overview" aria-labelledby="h-overview"><h2 id="h-overview">All findings</h2>'
        '<table class="stack"><thead><tr><th scope="col">Experiment</th><th scope="col">State</th>'
        f'<th scope="col">Published finding, judged here</th></tr></thead><tbody>{"".join(rows)}</tbody>'
        "</table></section>"
    )


def _answer(report: Report) -> str:
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in report.answer.reasons)
    return (
        f'<div class="answer"><h2>{escape(report.answer.headline)}</h2><ul>{reasons}</ul>'
        f'<p class="soft">Rule: {escape(report.answer.rule)}.</p></div>'
    )


def _facts(report: Report) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in report.facts)
    return f'<div class="facts"><h2>Measured on</h2><dl class="machine">{rows}</dl></div>'


def render(report: Report, bundle: str) -> str:
    specs = {
        chart_name(section, index): chart.spec
        for section in report.sections
        for index, chart in enumerate(section.charts)
    }
    scripts = ""
    if specs:
        scripts = (
            f'<script type="application/json" id="charts">{script_json(specs)}</script>'
            f'<script type="module">{script_text(bundle)}</script>'
            f'<script type="module">{script_text(asset("page.js"))}</script>'
        )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(TITLE)}</title><style>{asset('page.css')}</style></head><body>"
        '<a class="skip" href="#overview">To the findings</a>'
        f"<header><h1>{escape(TITLE)}</h1><p>Five published write-ups measured by hand what the size of "
        "<code>shared_buffers</code> costs. pgbufprobe repeated them here. Every figure on this page was measured in "
        "this run, except those marked as published.</p></header><main>"
        f"{_answer(report)}{_facts(report)}{_overview(report)}"
        f"{''.join(_section(section) for section in report.sections)}</main>"
        '<noscript><p class="warning">The charts need JavaScript. Their figures are in the tables.</p></noscript>'
        f"{scripts}</body></html>\n"
    )
