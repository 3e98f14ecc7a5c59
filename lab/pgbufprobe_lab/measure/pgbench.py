"""Runs pgbench and parses its output."""

import re
import threading
from dataclasses import dataclass, field

import psycopg

from pgbufprobe_lab.measure.server import Server


@dataclass
class Result:
    tps: float
    latency_ms: float
    intervals: list[tuple[float, float, float]] = field(default_factory=list)  # seconds, tps, latency


def parse(output: str, log: str = "") -> Result:
    tps = re.search(r"^tps = ([0-9.]+)", output, re.MULTILINE)
    latency = re.search(r"^latency average = ([0-9.]+) ms", output, re.MULTILINE)
    if not tps or not latency:
        raise RuntimeError(f"pgbench reported no rate: {output.strip()[-200:]}")
    found = re.findall(r"^progress: ([0-9.]+) s, ([0-9.]+) tps, lat ([0-9.]+|NaN) ms", log, re.MULTILINE)
    # An interval without a finished transaction has no latency.
    intervals = [(float(s), float(t), float(la)) for s, t, la in found if la != "NaN"]
    return Result(float(tps[1]), float(latency[1]), intervals)


def script_file(server: Server, name: str, text: str) -> str:
    """Writes a pgbench script. Returns its path as pgbench sees it."""
    path = server.installation.work / f"{name}.pgbench"
    path.write_text(text)
    return server.installation.path_in_root(path)


def run(server: Server, clients: int, seconds: float, *arguments: str, progress: int = 0) -> Result:
    whole = max(1, round(seconds))
    words = ["-n", "-c", str(clients), "-j", str(clients), "-T", str(whole), *arguments]
    if progress:
        words += ["-P", str(progress)]
    output, log = server.client_output("pgbench", *words, "lab")
    return parse(output, log)


@dataclass
class ClockRate:
    """The clock sweep during a run, from pgbufprobe_clock()."""

    passed_per_second: float
    allocations_per_second: float | None
    inspected_per_allocation: float | None

    def samples(self) -> list[tuple[str, float, str]]:
        found = [("passed_per_second", self.passed_per_second, "1/s")]
        if self.allocations_per_second is not None:
            found.append(("allocations_per_second", self.allocations_per_second, "1/s"))
        if self.inspected_per_allocation is not None:
            found.append(("inspected_per_allocation", self.inspected_per_allocation, "buffers"))
        return found


def clock_rate(server: Server, seconds: float) -> ClockRate:
    with server.connect() as connection:
        row = connection.execute(
            "SELECT coalesce(buffers / seconds_per_pass, 0), buffers / seconds_per_pass / inspected_per_allocation, "
            "inspected_per_allocation FROM pgbufprobe_clock(make_interval(secs => %s))",
            [seconds],
        ).fetchone()
    assert row
    return ClockRate(*row)


def run_watched(server: Server, clients: int, seconds: float, *arguments: str) -> tuple[Result, ClockRate]:
    """Runs pgbench and measures the clock sweep during the middle of the run."""
    found: list[ClockRate] = []
    errors: list[Exception] = []

    def watch() -> None:
        try:
            found.append(clock_rate(server, max(0.3, 0.7 * max(1, round(seconds)))))
        except (psycopg.Error, AssertionError) as error:
            errors.append(error)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        result = run(server, clients, seconds, *arguments)
    finally:
        thread.join()
    if errors:
        raise errors[0]
    return result, found[0]
