"""Tables of everything that was measured, and of what failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgbufprobe_lab.report.format import MISSING, number, size
from pgbufprobe_lab.report.load import Result
from pgbufprobe_lab.report.medians import Sample, Samples, summarize
from pgbufprobe_lab.report.model import Table

FIXED = ("what", "pool", "x")  # the first columns; further fields follow in one
NEVER = ("pool_bytes", "trial", "value", "unit", "passes", "reads")
MOST = 200  # groups above which single reads are not told apart: the page is for people


def _key(sample: Sample, leave_out: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    fields = [name for name in sample if name not in NEVER and name not in leave_out]
    return tuple((name, sample[name]) for name in (*FIXED, *sorted(set(fields) - set(FIXED))) if name in fields)


def _groups(samples: Samples, leave_out: tuple[str, ...]) -> dict[tuple[Any, ...], list[Sample]]:
    groups: dict[tuple[Any, ...], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((_key(sample, leave_out), sample.get("unit")), []).append(sample)
    return groups


def _figure(value: float, unit: str) -> str:
    return size(value) if unit == "bytes" else number(value)


def _field(value: Any) -> str:
    return number(value) if isinstance(value, (int, float)) else str(value)


def details(samples: Samples) -> Table:
    """Median, lowest and highest trial of every kind of sample."""
    numbered = {s["what"] for s in samples if len({o.get("x") for o in samples if o["what"] == s["what"]}) > 50}
    plain = [s for s in samples if s["what"] not in numbered and s["what"] != "histogram"]
    groups = _groups(plain, ())
    if len(groups) > MOST:
        groups = _groups(plain, ("x",))
    groups |= _groups([s for s in samples if s["what"] in numbered], ("x", "read", "event"))
    rows = []
    for (key, unit), group in groups.items():
        fields = dict(key)
        summary = summarize(group)
        if summary is None:
            continue
        others = ", ".join(f"{name} {_field(fields[name])}" for name in fields if name not in FIXED and fields[name] is not None)
        rows.append(
            (
                str(fields["what"]),
                str(fields.get("pool") or MISSING),
                MISSING if fields.get("x") is None else number(fields["x"]),
                others or MISSING,
                *(_figure(value, str(unit)) for value in (summary.median, summary.low, summary.high)),
                str(unit or ""),
                str(summary.trials),
            )
        )
    columns = ("Sample", "Pool", "x", "Further", "Median", "Lowest", "Highest", "Unit", "Trials")
    numeric = (False, False, True, False, True, True, True, False, True)
    return Table("Medians over the trials; histograms and single reads are in the JSON file", columns, tuple(rows), numeric)


def _cell(value: Any) -> str:
    return MISSING if value is None else str(value)


def _about(failed: Mapping[str, Any], result: Result) -> str:
    lost = [s for s in result.failed_samples if all(failed.get(k) in (None, s.get(k)) for k in ("trial", "pool"))]
    return f"{len(lost)}, none of them counted" if lost else "none"


def failures(result: Result) -> Table:
    """Each failed trial with its error, and what it had measured before."""
    rows = tuple(
        (f"failed: trial {_cell(f.get('trial'))}", _cell(f.get("pool")), _cell(f.get("error")), _about(f, result))
        for f in result.failures
    )
    columns = ("Trial", "Pool", "Error", "Samples before it failed")
    return Table("Failed trials", columns, rows, (False,) * 4, failed=True)
