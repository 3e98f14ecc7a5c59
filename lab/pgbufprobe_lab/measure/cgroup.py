"""A memory cgroup for the server, version 1 or 2, that simulates a machine with less memory.

The pages that the server reads into the page cache count as well, so the limit covers both caches.
"""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

PREFIX = "pgbufprobe-lab-"


@dataclass
class Limit:
    """The memory limit of a scenario, as the results record it."""

    bytes: int | None
    how: str  # cgroup v1, cgroup v2 or none
    why: str | None  # reason if there is none

    def as_json(self) -> dict[str, object]:
        return {"bytes": self.bytes, "how": self.how, "why": self.why}


class Cgroups:
    """The parent of the cgroups that are made, or the reason why none can be made."""

    def __init__(self, base: Path | None, version: int, why: str | None = None):
        self.base = base
        self.version = version
        self.why = why

    @property
    def how(self) -> str:
        return f"cgroup v{self.version}" if self.base else "none"

    def make(self, limit: int) -> "Cgroup":
        assert self.base
        group = Cgroup(self.base / f"{PREFIX}{os.getpid()}", self.version)
        group.make(limit)
        return group

    def remove_stale(self) -> None:
        """Removes the groups of runs that were killed."""
        if not self.base:
            return
        for folder in self.base.glob(f"{PREFIX}*"):
            pid = folder.name.removeprefix(PREFIX)
            if pid.isdigit() and not Path("/proc", pid).exists():
                Cgroup(folder, self.version).remove(timeout=0)


class Cgroup:
    """One group, for one start of a server."""

    def __init__(self, folder: Path, version: int):
        self.folder = folder
        self.version = version

    def _write(self, name: str, text: str) -> None:
        # write_text() would create a file where the kernel has none.
        with open(self.folder / name, "r+") as file:
            file.write(text)

    def make(self, limit: int) -> None:
        with contextlib.suppress(FileExistsError):
            self.folder.mkdir()
        if self.version == 1:
            self._write("memory.limit_in_bytes", str(limit))
            swap = "memory.memsw.limit_in_bytes"
        else:
            self._write("memory.max", str(limit))
            swap = "memory.swap.max"
        # The pool must not be swapped out. Not every kernel counts swap.
        if (self.folder / swap).exists():
            self._write(swap, str(limit) if self.version == 1 else "0")

    @property
    def procs(self) -> Path:
        return self.folder / "cgroup.procs"

    def kills(self) -> int:
        """Returns how many of its processes the kernel killed because of the limit."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        try:
            for line in (self.folder / name).read_text().splitlines():
                key, _, value = line.partition(" ")
                if key == "oom_kill":
                    return int(value)
        except OSError:
            pass
        return 0

    def remove(self, timeout: float = 5) -> None:
        """Removes the group. Its processes must have ended; the kernel may notice that with a delay."""
        until = time.monotonic() + timeout
        while self.folder.exists():
            try:
                if self.version == 1 and (self.folder / "memory.force_empty").exists():
                    self._write("memory.force_empty", "0")
            except OSError:
                pass
            try:
                self.folder.rmdir()
            except OSError:
                if time.monotonic() >= until:
                    return
                time.sleep(0.05)


def _own_group(text: str, version: int) -> str:
    """Returns the group of this process, from /proc/self/cgroup."""
    for line in text.splitlines():
        number, controllers, path = line.split(":", 2)
        if version == 2 and number == "0" and not controllers:
            return path
        if version == 1 and "memory" in controllers.split(","):
            return path
    return "/"


def _mounted(mounts: str, version: int) -> Path | None:
    for line in mounts.splitlines():
        _, at, kind, options, *_ = line.split(" ")
        if version == 1 and kind == "cgroup" and "memory" in options.split(","):
            return Path(at)
        if version == 2 and kind == "cgroup2":
            return Path(at)
    return None


def _enable_memory(parent: Path) -> bool:
    """Enables the memory controller for children of this v2 group if necessary. Returns whether it is enabled."""
    control = parent / "cgroup.subtree_control"
    try:
        if "memory" in control.read_text().split():
            return True
        with open(control, "r+") as file:
            file.write("+memory")
        return "memory" in control.read_text().split()
    except OSError:
        return False


def _reason_against(parent: Path, version: int) -> str | None:
    """Returns the reason why no group with a limit can be made in the parent, or None if one can."""
    if version == 2 and not _enable_memory(parent):
        return f"memory controller is not enabled for groups in {parent}"
    trial = Cgroup(parent / f"{PREFIX}{os.getpid()}-try", version)
    try:
        trial.make(1 << 30)
    except OSError as error:
        return f"could not create a memory cgroup in {parent}: {error.strerror}"
    finally:
        trial.remove(timeout=1)
    return None


def find(mounts: str | None = None, own: str | None = None) -> Cgroups:
    """Finds a parent for groups: the group of this process or one above it, v1 before v2."""
    mounts = Path("/proc/self/mounts").read_text() if mounts is None else mounts
    own = Path("/proc/self/cgroup").read_text() if own is None else own
    # The first reason is about the nearest group, so it is the one to report.
    why = None
    for version in (1, 2):
        base = _mounted(mounts, version)
        if not base:
            continue
        here = base / _own_group(own, version).lstrip("/")
        # In v2 a group that has processes cannot enable controllers for its children, so try its parents as well.
        tried = [here] if version == 1 else [here, *[p for p in here.parents if p == base or base in p.parents]]
        for parent in tried:
            reason = _reason_against(parent, version)
            if reason is None:
                return Cgroups(parent, version)
            why = why or reason
    return Cgroups(None, 0, why or "this machine has no memory cgroups")
