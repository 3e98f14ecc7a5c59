"""Records the results of a scenario: raw samples as they are measured, and one JSON file made from them.

<out>/<NAME>.raw.jsonl has one line for the conditions, then lines for each step: its samples, and whether it
is done or failed. Only steps with "done" count, so a run that was interrupted or killed continues with the
remaining steps.
"""

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from pgbufprobe_lab import samples
from pgbufprobe_lab.measure.errors import LabError

SCHEMA = 1
Value = object


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class Raw:
    """The contents of a file of raw samples."""

    conditions: dict[str, Value] | None = None
    samples: dict[str, list[dict[str, Value]]] = field(default_factory=dict)  # of the steps that are done
    failures: dict[str, dict[str, Value]] = field(default_factory=dict)
    settings: dict[str, Value] = field(default_factory=dict)
    seconds: float = 0.0
    started_at: str | None = None
    readable_bytes: int = 0


def read_raw(path: Path) -> Raw:
    raw = Raw()
    pending: dict[str, list[dict[str, Value]]] = {}
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return raw
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break  # truncated when the run was killed
        try:
            entry = json.loads(line)
        except ValueError:
            break
        raw.readable_bytes += len(line)
        step = entry.get("step")
        if "conditions" in entry:
            raw.conditions = entry["conditions"]
            raw.started_at = entry["at"]
        elif "begin" in entry:
            pending[entry["begin"]] = []
        elif "sample" in entry:
            pending.setdefault(step, []).append(entry["sample"])
        elif "done" in entry:
            raw.samples[entry["done"]] = pending.pop(entry["done"], [])
            raw.failures.pop(entry["done"], None)
            raw.seconds += entry["seconds"]
        elif "failed" in entry:
            pending.pop(entry["failed"], None)
            raw.failures[entry["failed"]] = entry["failure"]
            raw.seconds += entry["seconds"]
        elif "settings" in entry:
            raw.settings = entry["settings"]
    return raw


class Recorder:
    """Writes the results of one scenario."""

    def __init__(self, out: Path, name: str, conditions: dict[str, Value]):
        self.path = out / f"{name}.raw.jsonl"
        self.result = out / f"{name}.json"
        self.name = name
        self.raw = read_raw(self.path)
        self.step: str | None = None
        self.pending: list[dict[str, Value]] = []
        self.file: IO[str] | None = None
        self._continue_or_begin(conditions)

    def _continue_or_begin(self, conditions: dict[str, Value]) -> None:
        old = self.raw.conditions
        # Compare what JSON preserves of them.
        conditions = json.loads(json.dumps(conditions))
        if old is not None and old != conditions:
            different = ", ".join(sorted(k for k in {*old, *conditions} if old.get(k) != conditions.get(k)))
            raise LabError(
                f"{self.path} was measured under other conditions ({different}); "
                f"choose another folder with --out, or remove that file"
            )
        if old is not None:
            # Remove a truncated line before the next one is appended.
            os.truncate(self.path, self.raw.readable_bytes)
        else:
            self.path.write_text("")
        self.file = open(self.path, "a", encoding="utf-8")
        if old is None:
            self.raw.conditions = conditions
            self.raw.started_at = now()
            self._line({"conditions": conditions, "at": self.raw.started_at})

    def _line(self, entry: dict[str, Value], flush: bool = True) -> None:
        assert self.file
        self.file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
        if flush:
            self.file.flush()

    def is_done(self, step: str) -> bool:
        return step in self.raw.samples

    def begin(self, step: str) -> None:
        self.step = step
        self.pending = []
        self._line({"begin": step})

    def sample(self, **fields: Value) -> None:
        samples.check(self.name, fields)
        self.pending.append(fields)
        self._line({"step": self.step, "sample": fields}, flush=False)

    def settings(self, settings: dict[str, Value]) -> None:
        if settings != self.raw.settings:
            self.raw.settings = settings
            self._line({"settings": settings})

    def done(self, seconds: float) -> None:
        assert self.step
        self._line({"done": self.step, "seconds": seconds})
        self.raw.samples[self.step] = self.pending
        self.raw.failures.pop(self.step, None)
        self.raw.seconds += seconds
        self.step = None

    def failed(self, seconds: float, failure: dict[str, Value]) -> None:
        assert self.step
        self._line({"failed": self.step, "seconds": seconds, "failure": failure})
        self.raw.failures[self.step] = failure
        self.raw.seconds += seconds
        self.step = None

    def close(self) -> None:
        if self.file:
            self.file.close()
            self.file = None

    def write_result(self, status: str, steps: list[str], about: dict[str, Value]) -> None:
        """Writes the JSON file of the scenario. It is complete or absent."""
        result = {
            "schema": SCHEMA,
            "scenario": self.name,
            "asks": about["asks"],
            "profile": about["profile"],
            "status": status,
            "started_at": self.raw.started_at,
            "finished_at": now(),
            "seconds": round(self.raw.seconds, 3),
            "machine": about["machine"],
            "server": {"version": about["version"], "settings": self.raw.settings},
            "extension": about["extension"],
            "memory_limit": about["memory_limit"],
            "parameters": about["parameters"],
            "samples": [s for step in steps for s in self.raw.samples.get(step, [])],
            "failures": [self.raw.failures[step] for step in steps if step in self.raw.failures],
        }
        partial = self.result.with_suffix(".json.partial")
        with open(partial, "w", encoding="utf-8") as file:
            # One line for each sample, so that files can be read and compared.
            head = {k: v for k, v in result.items() if k not in ("samples", "failures")}
            text = json.dumps(head, ensure_ascii=False, indent=1)
            file.write(text.removesuffix("\n}"))
            for key in ("samples", "failures"):
                lines = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in result[key])
                file.write(f',\n "{key}": [' + (f"\n  {lines}\n ]" if lines else "]"))
            file.write("\n}\n")
        partial.replace(self.result)
