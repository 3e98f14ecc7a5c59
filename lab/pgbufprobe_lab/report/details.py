"""Tables of everything that was measured, and of what failed."""

from __future__ import annotations

from typing import Any

from pgbufprobe_lab.report.format import MISSING, number, size
from pgbufprobe_lab.report.load import Result
from pgbufprobe_lab.report.medians import Sample, Samples, summarize
from pgbufprobe_lab.report.model import Table

FIXED = ("what", "pool", "x")  # the first columns; further fields follow in one
NEVER = ("pool_bytes", "trial", "value", "unit", "passes", "reads")
LOST = 20  # single samples of failed steps that are shown
SINGLE = 50  # places on the axis from which on they number single reads
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
    places: dict[str, set[Any]] = {}
    for sample in samples:
        places.setdefault(sample["what"], set()).add(sample.get("x"))
    numbered = {what for what, found in places.items() if len(found) > SINGLE}
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
        others = ", ".join(
            f"{name} {_field(fields[name])}" for name in fields if name not in FIXED and fields[name] is not None
        )
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
    caption = "Medians over the trials; histograms and single reads are in the JSON file"
    return Table(caption, columns, tuple(rows), numeric, long=True)


def _cell(value: Any) -> str:
    return MISSING if value is None else str(value)


def failures(result: Result) -> Table:
    """Each failed step with its error."""
    rows = tuple(
        (
            f"failed: {f.get('step') or 'trial ' + _cell(f.get('trial'))}",
            _cell(f.get("trial")),
            _cell(f.get("pool")),
            _cell(f.get("error")),
        )
        for f in result.failures
    )
    return Table("Failed", ("Step", "Trial", "Pool", "Error"), rows, (False,) * 4, failed=True)


def lost(result: Result) -> Table:
    """What failed steps had measured before; too many single reads are cut short, and counted."""
    rows = [
        (
            f"failed: {_cell(s.get('step'))}",
            str(s["what"]),
            MISSING if s.get("x") is None else _field(s["x"]),
            _figure(float(s["value"]), str(s.get("unit"))),
            str(s.get("unit") or ""),
        )
        for s in result.lost[:LOST]
    ]
    caption = f"Measured by steps that failed; these {len(result.lost)} samples count in no figure"
    if len(result.lost) > LOST:
        caption += f" (the first {LOST})"
    return Table(
        caption, ("Step", "Sample", "x", "Value", "Unit"), tuple(rows), (False, False, True, True, False), failed=True
    )
