"""Runs pgbench, parses its output, and records it."""

import re
import threading
from dataclasses import dataclass, field

import psycopg

from pgbufprobe_lab.measure.server import Server
from pgbufprobe_lab.measure.trial import Trial


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


def clock_rate(server: Server, seconds: float) -> list[tuple[str, float, str]]:
    """Returns what is known of the clock sweep during these seconds, as samples with their units."""
    with server.connect() as connection:
        row = connection.execute(
            "SELECT coalesce(buffers / seconds_per_pass, 0), buffers / seconds_per_pass / inspected_per_allocation, "
            "inspected_per_allocation FROM pgbufprobe_clock(make_interval(secs => %s))",
            [seconds],
        ).fetchone()
    assert row
    names = (("passed_per_second", "1/s"), ("allocations_per_second", "1/s"), ("inspected_per_allocation", "buffers"))
    return [(what, value, unit) for (what, unit), value in zip(names, row, strict=True) if value is not None]


def record(trial: Trial, server: Server, clients: int, seconds: float, *arguments: str, **fields: str) -> None:
    """Runs pgbench, and records its rate and the clock sweep during the middle of the run."""
    found: list[tuple[str, float, str]] = []
    errors: list[Exception] = []

    def watch() -> None:
        try:
            found.extend(clock_rate(server, max(0.3, 0.7 * max(1, round(seconds)))))
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
    for what, value, unit in (("tps", result.tps, "1/s"), ("latency_ms", result.latency_ms, "ms"), *found):
        trial.sample(what, value, unit, clients, **fields)
