"""Reads the results of a run, one JSON file for each scenario. An unreadable file is reported, not skipped."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgbufprobe_lab.samples import NAMES

SCHEMA = 1
Sample = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """The result of one scenario. `status` is as in the file, or "not run", or "unreadable"."""

    scenario: str
    status: str
    why: str = ""
    raw: dict[str, Any] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    discarded: tuple[Sample, ...] = ()  # of failed steps
    failures: tuple[dict[str, Any], ...] = ()

    @property
    def measured(self) -> bool:
        return bool(self.samples)

    def part(self, name: str) -> dict[str, Any]:
        """Returns a nested object of the file, empty if it is missing."""
        value = self.raw.get(name)
        return value if isinstance(value, dict) else {}


def _list(raw: dict[str, Any], name: str) -> list[Any]:
    value = raw.get(name)
    return value if isinstance(value, list) else []


def _usable(sample: Any) -> bool:
    """Returns whether a sample has a name and a finite number."""
    if not isinstance(sample, dict) or not isinstance(sample.get("what"), str):
        return False
    value = sample.get("value")
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def discarded_samples(path: Path) -> tuple[Sample, ...]:
    """Returns the samples of failed steps. Only the raw file has them, and no figure includes them."""
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
            break  # truncated when the run was killed
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
        discarded=discarded_samples(path.with_name(f"{scenario}.raw.jsonl")) if failures else (),
        failures=tuple(failures),
    )


def read_results(outdir: Path) -> dict[str, Result]:
    """Returns all scenarios in the order of the write-ups, including those that were not run."""
    return {name: read_result(outdir / f"{name}.json", name) for name in NAMES}
