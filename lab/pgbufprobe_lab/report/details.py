"""Tables of all samples, and of failed steps."""

from __future__ import annotations

from typing import Any

from pgbufprobe_lab.analysis.load import Result
from pgbufprobe_lab.analysis.medians import Sample, Samples, summarize
from pgbufprobe_page.formatting import MISSING, number, size
from pgbufprobe_page.model import Table

FIXED = ("what", "pool", "x")  # have a column each; one column holds all other fields
NEVER = ("pool_bytes", "trial", "value", "unit", "passes", "reads")
SHOWN = 20  # samples of failed steps in their table
SINGLE = 50  # values of x, above which they number single reads
MOST = 200  # rows of the table, above which x is ignored


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
    """Returns the median, the lowest and the highest trial of each kind of sample."""
    positions: dict[str, set[Any]] = {}
    for sample in samples:
        positions.setdefault(sample["what"], set()).add(sample.get("x"))
    numbered = {what for what, found in positions.items() if len(found) > SINGLE}
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
    columns = ("Sample", "Pool", "x", "Other fields", "Median", "Lowest", "Highest", "Unit", "Trials")
    numeric = (False, False, True, False, True, True, True, False, True)
    caption = "Medians over the trials. The JSON file also has histograms and single reads"
    return Table(caption, columns, tuple(rows), numeric, long=True)


def _cell(value: Any) -> str:
    return MISSING if value is None else str(value)


def failures(result: Result) -> Table:
    """Returns the failed steps with their errors."""
    rows = tuple(
        (
            f"failed: {f.get('step') or 'trial ' + _cell(f.get('trial'))}",
            _cell(f.get("trial")),
            _cell(f.get("pool")),
            _cell(f.get("error")),
        )
        for f in result.failures
    )
    return Table("Failed steps", ("Step", "Trial", "Pool", "Error"), rows, (False,) * 4, failed=True)


def discarded(result: Result) -> Table:
    """Returns the samples of failed steps, at most SHOWN of them."""
    rows = [
        (
            f"failed: {_cell(s.get('step'))}",
            str(s["what"]),
            MISSING if s.get("x") is None else _field(s["x"]),
            _figure(float(s["value"]), str(s.get("unit"))),
            str(s.get("unit") or ""),
        )
        for s in result.discarded[:SHOWN]
    ]
    caption = f"Samples of failed steps; no figure includes these {len(result.discarded)} samples"
    if len(result.discarded) > SHOWN:
        caption += f" (the first {SHOWN} are shown)"
    return Table(
        caption, ("Step", "Sample", "x", "Value", "Unit"), tuple(rows), (False, False, True, True, False), failed=True
    )
