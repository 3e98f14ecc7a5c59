"""Reads the results of a run: one JSON file a scenario. A file that cannot be read is told, not skipped."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgbufprobe_lab.published import NAMES

SCHEMA = 1
Sample = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """What one scenario left behind. `status` is as in the file, or "not run" or "unreadable"."""

    scenario: str
    status: str
    why: str = ""
    raw: dict[str, Any] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    lost: tuple[Sample, ...] = ()
    failures: tuple[dict[str, Any], ...] = ()

    @property
    def measured(self) -> bool:
        return bool(self.samples)

    def part(self, name: str) -> dict[str, Any]:
        """A nested object of the file, empty where it is missing."""
        value = self.raw.get(name)
        return value if isinstance(value, dict) else {}


def _list(raw: dict[str, Any], name: str) -> list[Any]:
    value = raw.get(name)
    return value if isinstance(value, list) else []


def _usable(sample: Any) -> bool:
    """A name and a finite number; a figure that is not there is not a figure."""
    if not isinstance(sample, dict) or not isinstance(sample.get("what"), str):
        return False
    value = sample.get("value")
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def lost_samples(path: Path) -> tuple[Sample, ...]:
    """What steps measured before they failed: it is in the raw file only, and counts in no figure."""
    begun: dict[Any, list[Sample]] = {}
    failed: dict[Any, list[Sample]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return ()
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            break  # cut off when the laboratory was killed
        if "begin" in entry:
            begun[entry["begin"]] = []
            failed.pop(entry["begin"], None)
        elif "sample" in entry and _usable(entry["sample"]):
            begun.setdefault(entry.get("step"), []).append(entry["sample"])
        elif "failed" in entry:
            failed[entry["failed"]] = begun.pop(entry["failed"], [])
    return tuple({**sample, "step": step} for step, samples in failed.items() for sample in samples)


def read_result(path: Path, scenario: str) -> Result:
    if not path.exists():
        return Result(scenario, "not run", "no result of this scenario in the folder")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return Result(scenario, "unreadable", f"{path.name}: {error}")
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        return Result(scenario, "unreadable", f"{path.name} is not of schema {SCHEMA}")
    failures = [failure for failure in _list(raw, "failures") if isinstance(failure, dict)]
    samples = [sample for sample in _list(raw, "samples") if _usable(sample)]
    return Result(
        scenario=scenario,
        status=str(raw.get("status", "unknown")),
        raw=raw,
        samples=tuple(samples),
        lost=lost_samples(path.with_name(f"{scenario}.raw.jsonl")) if failures else (),
        failures=tuple(failures),
    )


def read_results(outdir: Path) -> dict[str, Result]:
    """Every scenario, in the order of the write-ups, whether it was run or not."""
    return {name: read_result(outdir / f"{name}.json", name) for name in NAMES}
