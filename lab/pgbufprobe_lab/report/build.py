"""Puts a report together: results in, a model of the page out. No file, no markup."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pgbufprobe_lab.published import A7_ORDER, SCENARIOS
from pgbufprobe_lab.report import derive, plots_load, plots_pool
from pgbufprobe_lab.report.compare import comparison, insert_comparison
from pgbufprobe_lab.report.conclusion import conclude
from pgbufprobe_lab.report.details import details, failures, lost
from pgbufprobe_lab.report.format import MISSING, duration, number, size, words
from pgbufprobe_lab.report.load import Result
from pgbufprobe_lab.report.medians import Samples
from pgbufprobe_lab.report.model import Report, Section, Table
from pgbufprobe_lab.verdicts import judge

PLOTS = plots_pool.PLOTS | plots_load.PLOTS


def _storage_table(samples: Samples) -> Table | None:
    """A7: no figures were published, only the order."""
    begins = derive.storage_begins(samples)
    if not begins:
        return None
    here = sorted(begins, key=lambda pool: begins[pool].median)
    furthest = derive.furthest(samples)
    rows = []
    for pool, begin in begins.items():
        beyond = furthest is not None and begin.low >= furthest
        spread = f"{number(begin.low)} to {number(begin.high)} %"
        rows.append(
            (
                f"{pool} pool",
                str(A7_ORDER.index(pool) + 1),
                str(here.index(pool) + 1),
                "not reached" if beyond else f"{number(begin.median)} %",
                MISSING if beyond else spread,
            )
        )
    columns = ("Pool", "Place published", "Place here", "Storage reads begin at", "Lowest to highest trial")
    return Table("Which pool needs the disk first", columns, tuple(rows), (False, True, True, True, True))


def _histogram_table(samples: Samples) -> Table | None:
    """A2: one event a pool, as the write-up printed its own."""
    rows = []
    for event in plots_pool.shown_events(samples):
        counts = sorted({*event["before"], *event["after"]}, key=lambda count: -1 if count is None else count)
        for count in counts:
            name = "unused" if count is None else f"usage count {int(count)}"
            cells = (number(event[moment].get(count, 0.0)) for moment in ("before", "after"))
            rows.append((f"{event['pool']}, {name}", *cells))
    if not rows:
        return None
    return Table(
        "Buffers around the search that is shown",
        ("Pool and usage count", "Before", "After"),
        tuple(rows),
        (False, True, True),
    )


def _tables(name: str, samples: Samples) -> list[Table]:
    tables = [comparison(name, samples)]
    if name == "A2":
        tables.append(_histogram_table(samples))
    if name == "A7":
        tables.append(_storage_table(samples))
    if name == "C":
        tables.append(insert_comparison(samples))
    return [table for table in tables if table is not None]


def _trouble(result: Result) -> str:
    if result.status == "complete" and not result.failures:
        return ""
    if result.status == "not run":
        return "Not run: there is no result of this experiment in this folder."
    if result.status == "unreadable":
        return f"The result cannot be read: {result.why}"
    parts = []
    if result.status != "complete":
        parts.append(
            "This experiment was interrupted; what follows is from what was measured until then."
            if result.status == "interrupted"
            else "This experiment is not complete; what follows is from the steps that are."
        )
    if result.failures:
        count = len(result.failures)
        parts.append(
            "1 step of it failed and counts in no figure."
            if count == 1
            else f"{count} steps of it failed and count in no figure."
        )
    return " ".join(parts)


def _section(name: str, result: Result, cpus: int | None) -> Section:
    scenario, samples = SCENARIOS[name], result.samples
    trouble = _trouble(result)
    tables = [failures(result)] if result.failures else []
    if result.lost:
        tables.append(lost(result))
    if not result.measured:
        return Section(scenario, result, tables=tuple(tables), trouble=trouble)
    return Section(
        scenario,
        result,
        verdicts=tuple(judge(name, samples, cpus)),
        tables=(*tables, *_tables(name, samples)),
        charts=tuple(PLOTS[name](samples)),
        details=(details(samples),),
        trouble=trouble,
    )


def _cpus(result: Result) -> int | None:
    value = result.part("machine").get("cpus")
    return value if isinstance(value, int) and value > 0 else None


def _unique(results: Mapping[str, Result], part: str, key: str) -> list[Any]:
    """What the scenarios say about one thing, each saying once."""
    values = (result.part(part).get(key) for result in results.values())
    return list(dict.fromkeys(value for value in values if isinstance(value, (str, int, float))))


def _limits(results: Mapping[str, Result]) -> str:
    """Each limit with the scenarios it held for, if there was more than one."""
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
    missing = [name for name, result in results.items() if result.status == "not run"]
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
        ("Measuring took", duration(sum(seconds)) if seconds else ""),
        ("Not run", words(missing)),
    ]
    return [(name, value) for name, value in facts if value]


def build(results: Mapping[str, Result]) -> Report:
    sections = tuple(_section(name, results[name], _cpus(results[name])) for name in SCENARIOS)
    answer = conclude({name: result.samples for name, result in results.items()})
    return Report(answer, tuple(_facts(results)), sections)
