"""Runs pgbench and reads what it prints."""

import re
import threading
from dataclasses import dataclass, field

import psycopg

from .server import Server


@dataclass
class Result:
    tps: float
    latency_ms: float
    intervals: list[tuple[float, float, float]] = field(default_factory=list)    # seconds, tps, latency


def parse(output: str, log: str = "") -> Result:
    tps = re.search(r"^tps = ([0-9.]+)", output, re.MULTILINE)
    latency = re.search(r"^latency average = ([0-9.]+) ms", output, re.MULTILINE)
    if not tps or not latency:
        raise RuntimeError(f"pgbench said no rate: {output.strip()[-200:]}")
    found = re.findall(r"^progress: ([0-9.]+) s, ([0-9.]+) tps, lat ([0-9.]+|NaN) ms", log, re.MULTILINE)
    # In an interval in which nothing was finished there is no latency.
    intervals = [(float(s), float(t), float(la)) for s, t, la in found if la != "NaN"]
    return Result(float(tps[1]), float(latency[1]), intervals)


def script_file(server: Server, name: str, text: str) -> str:
    """A file with a pgbench script, where pgbench can read it; its name there."""
    path = server.workshop.work / f"{name}.pgbench"
    path.write_text(text)
    return server.workshop.seen_by_server(path)


def run(server: Server, clients: int, seconds: float, *arguments: str, progress: int = 0) -> Result:
    whole = max(1, round(seconds))
    words = ["-n", "-c", str(clients), "-j", str(clients), "-T", str(whole), *arguments]
    if progress:
        words += ["-P", str(progress)]
    output, log = server.client_output("pgbench", *words, "lab")
    return parse(output, log)


@dataclass
class Clock:
    """What the hand did meanwhile, by pgbufprobe_clock_rate()."""

    ticks_per_second: float
    allocations_per_second: float
    inspected_per_allocation: float | None

    def samples(self) -> list[tuple[str, float, str]]:
        found = [("ticks_per_second", self.ticks_per_second, "1/s"),
                 ("allocations_per_second", self.allocations_per_second, "1/s")]
        if self.inspected_per_allocation is not None:
            found.append(("inspected_per_allocation", self.inspected_per_allocation, "buffers"))
        return found


def watch_clock(server: Server, seconds: float) -> Clock:
    with server.connect() as connection:
        row = connection.execute(
            "SELECT ticks_per_second, allocations_per_second, inspected_per_allocation "
            "FROM pgbufprobe_clock_rate(make_interval(secs => %s))", [seconds]
        ).fetchone()
    assert row
    return Clock(*row)


def run_watched(server: Server, clients: int, seconds: float, *arguments: str) -> tuple[Result, Clock]:
    """The same, with the clock hand watched in the middle of the run."""
    found: list[Clock] = []
    errors: list[Exception] = []

    def watch() -> None:
        try:
            found.append(watch_clock(server, max(0.3, 0.7 * max(1, round(seconds)))))
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
