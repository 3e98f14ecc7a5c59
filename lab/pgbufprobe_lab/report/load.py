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
    failed_samples: tuple[Sample, ...] = ()
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


def _failed(sample: Sample, failures: list[dict[str, Any]]) -> bool:
    """What a failed trial measured before it failed is shown as failed, and counts in no median."""
    return any(
        failure.get("trial") is not None
        and failure["trial"] == sample.get("trial")
        and failure.get("pool") in (None, sample.get("pool"))
        for failure in failures
    )


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
        samples=tuple(sample for sample in samples if not _failed(sample, failures)),
        failed_samples=tuple(sample for sample in samples if _failed(sample, failures)),
        failures=tuple(failures),
    )


def read_results(outdir: Path) -> dict[str, Result]:
    """Every scenario, in the order of the write-ups, whether it was run or not."""
    return {name: read_result(outdir / f"{name}.json", name) for name in NAMES}
