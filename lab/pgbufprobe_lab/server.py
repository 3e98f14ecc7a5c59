"""A throwaway server: one data directory, started anew for each trial with the pool it asks for."""

import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import psycopg

from . import caches
from .cgroup import Cgroup, Cgroups
from .errors import StepFailed
from .workshop import Workshop

Settings = dict[str, str | int | float]

# As published for A: nothing happens on the server but what the scenario does.
QUIET: Settings = {
    "autovacuum": "off",
    "checkpoint_timeout": "1d",
    "max_wal_size": "30GB",
    "max_parallel_workers_per_gather": 0,
    "jit": "off",
    "max_connections": 100,
    "log_checkpoints": "off",
}

# Making tables is not what is measured.
LOADING: Settings = {**QUIET, "fsync": "off", "wal_level": "minimal", "max_wal_senders": 0, "synchronous_commit": "off",
                     "maintenance_work_mem": "256MB", "full_page_writes": "off"}

# What goes into the results.
REPORTED = (
    "shared_buffers", "max_wal_size", "checkpoint_timeout", "checkpoint_completion_target", "autovacuum", "fsync",
    "synchronous_commit", "full_page_writes", "bgwriter_lru_maxpages", "bgwriter_delay", "huge_pages",
    "max_parallel_workers_per_gather", "jit", "io_method", "effective_io_concurrency", "wal_level", "block_size",
)


class Server:
    """A server that runs."""

    def __init__(self, workshop: Workshop, process: subprocess.Popen, pool_bytes: int):
        self.workshop = workshop
        self.process = process
        self.pool_bytes = pool_bytes

    def connect(self, database: str = "lab") -> psycopg.Connection:
        return psycopg.connect(
            host=str(self.workshop.socket_dir), port=self.workshop.port, user="postgres", dbname=database,
            autocommit=True,
        )

    def client(self, program: str, *arguments: str) -> str:
        return self.client_output(program, *arguments)[0]

    def client_output(self, program: str, *arguments: str) -> tuple[str, str]:
        """Runs pgbench and the like against it; what it wrote to standard output and to standard error."""
        where = ["-h", self.workshop.about.words["sock"], "-p", str(self.workshop.port), "-U", "postgres"]
        return self.workshop.outputs(program, *where, *arguments)


def reported_settings(connection: psycopg.Connection) -> dict[str, str]:
    rows = connection.execute(
        "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s) AND name <> 'shared_buffers'",
        [list(REPORTED)],
    ).fetchall()
    return dict(sorted(rows))


class Cluster:
    """A data directory and the server on it, if one runs."""

    def __init__(self, workshop: Workshop, cgroups: Cgroups, data: Path, mount: Path | None = None):
        self.workshop = workshop
        self.cgroups = cgroups
        self.data = data
        self.mount = mount          # the folder that is not in the server's own root folder
        self.log = workshop.work / "server.log"

    def _path(self, data: Path) -> str:
        return self.workshop.seen_by_server(data, self.mount)

    def make(self) -> None:
        self.workshop.run("initdb", "-D", self._path(self.data), "-U", "postgres", "-A", "trust", "--no-locale",
                          "--encoding=UTF8", "--no-sync", "--no-instructions", mount=self.mount)

    def save(self, copy: Path) -> None:
        """Keeps the state of a stopped server, for restore()."""
        self._copy(self.data, copy)

    def restore(self, copy: Path) -> None:
        shutil.rmtree(self.data, ignore_errors=True)
        self._copy(copy, self.data)

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)

    @contextmanager
    def server(self, pool_bytes: int, settings: Settings | None = None, limit: int | None = None) -> Iterator[Server]:
        """A server for as long as the block lasts, that has found nothing of its files in the page cache."""
        settings = {**QUIET, **(settings or {})}
        if self.workshop.major >= 18:
            # Otherwise other processes read for the one that is measured.
            settings.setdefault("io_method", "sync")
        caches.drop(self.data)
        group = self.cgroups.make(limit) if limit and self.cgroups.base else None
        process = None
        try:
            process = self._start(pool_bytes, settings, group)
            self._await(process, group)
            yield Server(self.workshop, process, pool_bytes)
            self._check_alive(process, group)
        except psycopg.Error as error:
            if process is not None:
                time.sleep(0.2)
                self._check_alive(process, group)
            raise StepFailed(str(error).strip()) from error
        finally:
            if process is not None:
                self._stop(process)
            if group is not None:
                group.remove()

    def _start(self, pool_bytes: int, settings: Settings, group: Cgroup | None) -> subprocess.Popen:
        options = ["-D", self._path(self.data)]
        own = {
            "listen_addresses": "", "port": self.workshop.port,
            "unix_socket_directories": self.workshop.about.words["sock"],
            "shared_buffers": f"{pool_bytes // 8192}",
        }
        for name, value in {**settings, **own}.items():
            options += ["-c", f"{name}={value}"]
        for setting in self.workshop.about.setting:
            options += ["-c", setting]
        words = self.workshop.command("postgres", *options, mount=self.mount)
        if group is not None:
            words = ["sh", "-ec", 'echo $$ >"$0"; exec "$@"', str(group.procs), *words]
        with open(self.log, "w") as log:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def _await(self, process: subprocess.Popen, group: Cgroup | None, patience: float = 120) -> None:
        until = time.monotonic() + patience
        while time.monotonic() < until:
            self._check_alive(process, group)
            try:
                psycopg.connect(host=str(self.workshop.socket_dir), port=self.workshop.port, user="postgres",
                                dbname="postgres").close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise StepFailed(f"the server was not ready after {patience:.0f} s")

    def _check_alive(self, process: subprocess.Popen, group: Cgroup | None) -> None:
        killed = group.kills() if group else 0
        if killed:
            raise StepFailed("the kernel killed a process of the server: the memory limit is too small for this pool")
        if process.poll() is not None:
            raise StepFailed(f"the server ended: {self._last_words()}")

    def _last_words(self) -> str:
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines()]
        bad = [line for line in lines if any(word in line for word in ("FATAL", "PANIC", "could not"))]
        return (bad or lines or ["it said nothing"])[-1]

    @staticmethod
    def _stop(process: subprocess.Popen) -> None:
        """In good order, or faster: it is a throwaway server."""
        for number, patience in ((signal.SIGINT, 60), (signal.SIGQUIT, 10), (signal.SIGKILL, 10)):
            if process.poll() is not None:
                return
            os.kill(process.pid, number)
            try:
                process.wait(patience)
                return
            except subprocess.TimeoutExpired:
                continue
