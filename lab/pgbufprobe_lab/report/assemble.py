"""Assembles a report from results."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pgbufprobe_lab.analysis.conclusion import conclude
from pgbufprobe_lab.analysis.load import Result
from pgbufprobe_lab.analysis.published import EXPERIMENTS
from pgbufprobe_lab.analysis.verdicts import judge
from pgbufprobe_lab.report.charts import CHARTS
from pgbufprobe_lab.report.details import details, discarded, failures
from pgbufprobe_lab.report.model import Report, Section
from pgbufprobe_lab.report.tables import tables
from pgbufprobe_page.formatting import duration, number, size, words


def _problem(result: Result) -> str:
    """Returns what the reader must know about an incomplete result."""
    if result.status == "not run":
        return ""
    if result.status == "unreadable":
        return f"Could not read the result: {result.why}"
    sentences = []
    if result.status == "interrupted":
        sentences.append("This experiment was interrupted. The figures are from the steps before that.")
    elif result.status != "complete":
        sentences.append("This experiment is incomplete. The figures are from its complete steps.")
    if count := len(result.failures):
        sentences.append(
            f"{count} steps failed; no figure includes them." if count > 1 else "1 step failed; no figure includes it."
        )
    return " ".join(sentences)


def _section(name: str, result: Result) -> Section:
    experiment, samples = EXPERIMENTS[name], result.samples
    failed = (failures(result),) if result.failures else ()
    if result.discarded:
        failed += (discarded(result),)
    if not result.measured:
        return Section(experiment, result, tables=failed, problem=_problem(result))
    return Section(
        experiment,
        result,
        verdicts=tuple(judge(name, samples, _cpus(result))),
        tables=(*failed, *tables(name, samples)),
        charts=tuple(CHARTS[name](samples)),
        details=details(samples),
        problem=_problem(result),
    )


def _cpus(result: Result) -> int | None:
    value = result.part("machine").get("cpus")
    return value if isinstance(value, int) and value > 0 else None


def _unique(results: Mapping[str, Result], part: str, key: str) -> list[Any]:
    """Returns the different values of one field over all scenarios."""
    values = (result.part(part).get(key) for result in results.values())
    return list(dict.fromkeys(value for value in values if isinstance(value, (str, int, float))))


def _limits(results: Mapping[str, Result]) -> str:
    """Returns the memory limit; if scenarios had different ones, each with its scenarios."""
    names: dict[str, list[str]] = {}
    for name, result in results.items():
        limit = result.part("memory_limit")
        if not limit:
            continue
        if limit.get("how") in (None, "none"):
            text = f"none ({limit['why']})" if limit.get("why") else "none"
        else:
            text = f"{size(limit.get('bytes'))} by {limit['how']}"
        names.setdefault(text, []).append(name)
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"{words(found)}: {text}" for text, found in names.items())


def _moment(text: str) -> str:
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M %Z").strip()
    except ValueError:
        return text


def _facts(results: Mapping[str, Result]) -> list[tuple[str, str]]:
    run = {name: result for name, result in results.items() if result.raw}
    raws = [result.raw for result in run.values()]
    profiles = dict.fromkeys(str(raw["profile"]) for raw in raws if raw.get("profile"))
    started = sorted(str(raw["started_at"]) for raw in raws if raw.get("started_at"))
    finished = sorted(str(raw["finished_at"]) for raw in raws if raw.get("finished_at"))
    seconds = [raw["seconds"] for raw in raws if isinstance(raw.get("seconds"), (int, float))]
    facts = [
        ("Server", words([f"PostgreSQL {version}" for version in _unique(run, "server", "version")])),
        (
            "Extension",
            words([f"pgbufprobe {v}" for v in dict.fromkeys(str(r["extension"]) for r in raws if r.get("extension"))]),
        ),
        ("Processor", words([str(cpu) for cpu in _unique(run, "machine", "cpu")])),
        ("CPUs", words([number(cpus) for cpus in _unique(run, "machine", "cpus")])),
        ("Memory", words([size(memory) for memory in _unique(run, "machine", "memory_bytes")])),
        ("Memory limit", _limits(run)),
        ("Kernel", words([str(kernel) for kernel in _unique(run, "machine", "kernel")])),
        ("File system", words([str(name) for name in _unique(run, "machine", "filesystem")])),
        ("Profile", words(list(profiles))),
        ("Time", f"{_moment(started[0])} to {_moment(finished[-1])}" if started and finished else ""),
        ("Measured for", duration(sum(seconds)) if seconds else ""),
    ]
    return [(name, value) for name, value in facts if value]


def assemble(results: Mapping[str, Result]) -> Report:
    entries = tuple(_section(name, results[name]) for name in EXPERIMENTS)
    conclusion = conclude({name: result.samples for name, result in results.items()})
    return Report(conclusion, tuple(_facts(results)), entries)
