"""Describes the machine: processor, memory, kernel, file system."""

import os
from pathlib import Path


def ram() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/meminfo has no MemTotal")


def cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "cpu"):
            return value.strip()
    return os.uname().machine


def _unescape(path: str) -> str:
    return path.encode().decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "replace")


def filesystem(path: Path, mounts: str | None = None) -> str:
    """Returns the type of the file system that holds the path."""
    if mounts is None:
        mounts = Path("/proc/self/mounts").read_text()
    real = path.resolve()
    best, found = -1, "unknown"
    for line in mounts.splitlines():
        fields = line.split(" ")
        at = Path(_unescape(fields[1]))
        if (real == at or at in real.parents) and len(at.parts) >= best:
            best, found = len(at.parts), fields[2]
    return found


def describe(data: Path) -> dict[str, object]:
    return {
        "cpu": cpu(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": ram(),
        "kernel": os.uname().release,
        "filesystem": filesystem(data),
    }
