"""A temporary server: one data directory, and a server start for each trial with the pool size of its step."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from pgbufprobe_lab.measure import pagecache
from pgbufprobe_lab.measure.cgroup import Cgroup, Cgroups
from pgbufprobe_lab.measure.errors import StepFailed
from pgbufprobe_lab.measure.installation import Installation

Settings = dict[str, str | int | float]

# As published for A: no background work but what the scenario causes.
QUIET: Settings = {
    "autovacuum": "off",
    "checkpoint_timeout": "1d",
    "max_wal_size": "30GB",
    "max_parallel_workers_per_gather": 0,
    "jit": "off",
    "max_connections": 100,
    "log_checkpoints": "off",
}

# For creating tables, which is not measured.
LOADING: Settings = {
    **QUIET,
    "fsync": "off",
    "wal_level": "minimal",
    "max_wal_senders": 0,
    "synchronous_commit": "off",
    "maintenance_work_mem": "256MB",
    "full_page_writes": "off",
}

# Settings that are part of the results.
REPORTED = (
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "checkpoint_completion_target",
    "autovacuum",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "bgwriter_lru_maxpages",
    "bgwriter_delay",
    "huge_pages",
    "max_parallel_workers_per_gather",
    "jit",
    "io_method",
    "effective_io_concurrency",
    "wal_level",
    "block_size",
)


class Server:
    """A running server."""

    def __init__(self, installation: Installation, process: subprocess.Popen, pool_bytes: int):
        self.installation = installation
        self.process = process
        self.pool_bytes = pool_bytes

    def connect(self, database: str = "lab") -> psycopg.Connection:
        return psycopg.connect(
            host=str(self.installation.socket_dir),
            port=self.installation.port,
            user="postgres",
            dbname=database,
            autocommit=True,
        )

    def client(self, program: str, *arguments: str) -> str:
        return self.client_output(program, *arguments)[0]

    def client_output(self, program: str, *arguments: str) -> tuple[str, str]:
        """Runs a client program such as pgbench. Returns its standard output and its standard error."""
        where = ["-h", self.installation.socket_dir_in_root, "-p", str(self.installation.port), "-U", "postgres"]
        return self.installation.outputs(program, *where, *arguments)


def reported_settings(connection: psycopg.Connection) -> dict[str, str]:
    rows = connection.execute(
        "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s) AND name <> 'shared_buffers'",
        [list(REPORTED)],
    ).fetchall()
    return dict(sorted(rows))


class Cluster:
    """A data directory, and how to run a server on it."""

    def __init__(self, installation: Installation, cgroups: Cgroups, data: Path, mount: Path | None = None):
        self.installation = installation
        self.cgroups = cgroups
        self.data = data
        self.mount = mount  # a folder outside the server's root folder that holds the data
        self.log = installation.work / "server.log"

    def _path(self, data: Path) -> str:
        return self.installation.path_in_root(data, self.mount)

    def make(self) -> None:
        self.installation.run(
            "initdb",
            "-D",
            self._path(self.data),
            "-U",
            "postgres",
            "-A",
            "trust",
            "--no-locale",
            "--encoding=UTF8",
            "--no-sync",
            "--no-instructions",
            mount=self.mount,
        )

    def save(self, copy: Path) -> None:
        """Copies the data directory of a stopped server, for restore()."""
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
        """Runs a server for the duration of the block, started with none of its files in the page cache."""
        settings = {**QUIET, **(settings or {})}
        if self.installation.major >= 18:
            # Otherwise I/O workers would do the reads of the backend that is measured.
            settings.setdefault("io_method", "sync")
        pagecache.drop(self.data)
        group = self.cgroups.make(limit) if limit and self.cgroups.base else None
        process = None
        try:
            process = self._start(pool_bytes, settings, group)
            self._wait_until_ready(process, group)
            yield Server(self.installation, process, pool_bytes)
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
            "listen_addresses": "",
            "port": self.installation.port,
            "unix_socket_directories": self.installation.socket_dir_in_root,
            "shared_buffers": f"{pool_bytes // 8192}",
        }
        for name, value in {**settings, **own}.items():
            options += ["-c", f"{name}={value}"]
        for setting in self.installation.about.setting:
            options += ["-c", setting]
        words = self.installation.command("postgres", *options, mount=self.mount)
        if group is not None:
            words = ["sh", "-ec", 'echo $$ >"$0"; exec "$@"', str(group.procs), *words]
        with open(self.log, "w") as log:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def _wait_until_ready(self, process: subprocess.Popen, group: Cgroup | None, timeout: float = 120) -> None:
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            self._check_alive(process, group)
            try:
                psycopg.connect(
                    host=str(self.installation.socket_dir),
                    port=self.installation.port,
                    user="postgres",
                    dbname="postgres",
                ).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise StepFailed(f"server was not ready after {timeout:.0f} s")

    def _check_alive(self, process: subprocess.Popen, group: Cgroup | None) -> None:
        killed = group.kills() if group else 0
        if killed:
            raise StepFailed("memory limit is too small for this pool: the kernel killed a server process")
        if process.poll() is not None:
            raise StepFailed(f"server stopped: {self._last_error()}")

    def _last_error(self) -> str:
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines()]
        errors = [line for line in lines if any(word in line for word in ("FATAL", "PANIC", "could not"))]
        return (errors or lines or ["its log is empty"])[-1]

    @staticmethod
    def _stop(process: subprocess.Popen) -> None:
        """Stops the server in fast mode, in immediate mode if that takes too long, then by SIGKILL."""
        for number, timeout in ((signal.SIGINT, 60), (signal.SIGQUIT, 10), (signal.SIGKILL, 10)):
            if process.poll() is not None:
                return
            os.kill(process.pid, number)
            try:
                process.wait(timeout)
                return
            except subprocess.TimeoutExpired:
                continue
