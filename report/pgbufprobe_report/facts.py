"""The facts of a report: rows of the extension's functions, with the columns that pages show, as --json writes them.

What earlier versions have written is in other columns; earlier.py knows them.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Generic, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

R = TypeVar("R")
Time = NewType("Time", str)  # with its time zone
Word = NewType("Word", str)  # of a verdict

# Larger figures are not those of a server, and could not be calculated with.
LIMIT = 1e18
FORMAT = 2  # of the files of --json
VICTIMS = 1000  # searches that facts.sql asks for


class GatherError(Exception):
    """There is nothing to report."""


# Class and sign of each verdict.
BADGES = {"fine": ("holds", "✓"), "consider": ("consider", "!"), "change": ("fails", "!")}
LATER = "The verdict is a word of a later version of pgbufprobe, which is not known here"


def understood(verdict: str) -> str:
    """Returns a verdict. Words that are not known here are unknown."""
    return verdict if verdict in BADGES else "unknown"


@dataclass(frozen=True)
class Answer:
    topic: str
    verdict: Word
    answer: str
    action: str | None
    detail: str | None = None

    @property
    def word(self) -> str:
        return understood(self.verdict)

    @property
    def badge(self) -> tuple[str, str]:
        return BADGES.get(self.verdict, ("unknown", "?"))


@dataclass(frozen=True)
class Verdict:
    """Which size is best, and what it would save: the one place where it is decided."""

    verdict: Word
    basis: str | None
    today_bytes: int
    advised_bytes: int | None
    equal_from_bytes: int | None
    equal_to_bytes: int | None
    read_ms_per_second: float | None
    saved_ms_per_second: float | None
    saved_ms_low: float | None
    saved_ms_high: float | None
    work_ms_per_second: float | None
    seconds: float | None
    note: str | None


@dataclass(frozen=True)
class Hour:
    """What sessions waited in an hour, and which size would have been best in it."""

    hour: Time
    seconds: float
    in_decision: bool
    shared_buffers_bytes: int
    read_ms_per_second: float | None
    best_bytes: int | None
    saved_ms_per_second: float | None


@dataclass(frozen=True)
class Consumer:
    """Who takes memory. The row "total" is the memory of the machine, or of the tightest memory cgroup."""

    consumer: str
    today_bytes: int | None


@dataclass(frozen=True)
class Ratios:
    """Estimates of both shares of block accesses, with their 95 % intervals."""

    miss_ratio: float | None
    miss_ratio_low: float | None
    miss_ratio_high: float | None
    storage_ratio: float | None
    storage_ratio_low: float | None
    storage_ratio_high: float | None
    note: str | None


@dataclass(frozen=True)
class Size(Ratios):
    size_factor: float
    shared_buffers_bytes: int
    os_cache_bytes: int | None
    fits: str | None
    mark: str | None
    read_ms_per_second: float | None
    read_ms_low: float | None
    read_ms_high: float | None

    @property
    def may_fit(self) -> bool:
        """True also if nothing is known about it."""
        return self.fits in ("yes", "connections", None)


@dataclass(frozen=True)
class Prediction(Ratios):
    made_at: Time
    from_bytes: int
    to_bytes: int
    measured_miss_ratio: float | None
    measured_storage_ratio: float | None
    held: bool | None


@dataclass(frozen=True)
class Status:
    """What the estimates rest on."""

    sampler: str
    sampled_fraction: float | None
    learned_fraction: float | None
    reads_seen: int | None
    self_error: float | None
    storage_self_error: float | None
    missed_fraction: float | None


@dataclass(frozen=True)
class Memory:
    """A total of memory, and its best split."""

    memory_bytes: int
    shared_buffers_bytes: int | None
    os_cache_bytes: int | None
    mark: str | None
    storage_ratio: float | None
    storage_ratio_low: float | None
    storage_ratio_high: float | None
    read_ms_per_second: float | None
    read_ms_low: float | None
    read_ms_high: float | None
    note: str | None

    def has(self, mark: str) -> bool:
        return mark in (self.mark or "").split(", ")


@dataclass(frozen=True)
class Usage:
    usagecount: int | None
    buffers: int
    buffers_low: int
    buffers_high: int
    dirty: int


@dataclass(frozen=True)
class Moment:
    """An entry of the sampler's history."""

    taken_at: Time
    seconds_per_pass: float | None
    usagecounts: list[int]


@dataclass(frozen=True)
class Victims:
    """Searches for VICTIMS buffers."""

    scenario: str
    avg_us: float | None
    p99_us: float | None
    max_us: float | None
    inspected: float
    dirty_victims: int
    ms_per_pass: float | None


@dataclass(frozen=True)
class Scan:
    method: str
    min_ms: float | None
    max_ms: float | None


@dataclass(frozen=True)
class Clock:
    buffers: int
    hand: int
    passes: int
    inspected_per_allocation: float | None
    seconds_per_pass: float | None

    @property
    def allocations_per_second(self) -> float | None:
        if not self.seconds_per_pass or not self.inspected_per_allocation:
            return None
        return self.buffers / self.seconds_per_pass / self.inspected_per_allocation


@dataclass(frozen=True)
class Setting:
    name: str
    setting: str | None


@dataclass(frozen=True)
class Fork:
    """A fork of a relation of this database."""

    relation: str | None
    oid: int | None
    fork: str | None

    def __str__(self) -> str:
        return (self.relation or "all others") + self.suffix

    @property
    def suffix(self) -> str:
        return "" if self.fork in (None, "main") else f" ({self.fork})"


@dataclass(frozen=True)
class AnyFork(Fork):
    """A fork of a relation of any database; of those of other databases, the server knows only the file."""

    database: str | None
    relfilenode: int | None
    database_oid: int | None

    def __str__(self) -> str:
        if self.relation is not None or self.relfilenode is None:
            return super().__str__()
        return f"{self.database or 'shared by all databases'}, file {self.relfilenode}{self.suffix}"


@dataclass(frozen=True)
class Gain(AnyFork):
    read_fraction: float | None
    reads_saved: float | None
    reads_saved_low: float | None
    reads_saved_high: float | None
    reads_added: float | None
    reads_added_low: float | None
    reads_added_high: float | None
    storage_reads_saved: float | None
    storage_reads_saved_low: float | None
    storage_reads_saved_high: float | None
    working_set_bytes: float | None
    working_set_bytes_low: float | None
    working_set_bytes_high: float | None
    note: str | None


@dataclass(frozen=True)
class Pooled(AnyFork):
    bytes: int
    bytes_low: float | None
    bytes_high: float | None
    idle_bytes: int | None
    dirty_bytes: int
    usagecount_avg: float | None
    stay_seconds: float | None = None


@dataclass(frozen=True)
class Cached(Fork):
    """What both caches hold of a fork, or of the whole database."""

    bytes: int | None
    shared_bytes: int | None
    os_bytes: int | None
    both_bytes: int | None
    both_bytes_low: float | None
    both_bytes_high: float | None

    @property
    def distinct(self) -> int | None:
        """The bytes that are in any cache."""
        if self.shared_bytes is None or self.os_bytes is None or self.both_bytes is None:
            return None
        return self.shared_bytes + self.os_bytes - self.both_bytes


@dataclass(frozen=True)
class Cell:
    """A range of blocks."""

    blocks: int | None
    shared_blocks: int | None
    os_blocks: int | None
    both_blocks: int | None


@dataclass(frozen=True)
class Map(Fork):
    bytes: int
    cells: list[Cell] | None


@dataclass(frozen=True)
class Server:
    version: str
    server_version: str
    extension_version: str
    database: str
    database_oid: int
    cluster_name: str
    system_identifier: str
    standby: bool
    started_at: Time
    block_bytes: int
    shared_buffers_bytes: int
    host: str | None = None

    @property
    def release(self) -> str:
        """The version without what a packager adds."""
        return self.server_version.split(" ")[0]


@dataclass(frozen=True)
class Fact(Generic[R]):
    """Rows, or None and the reason: a message with its SQLSTATE. Notes are what the server said meanwhile."""

    call: str
    rows: list[R] | None
    unknown: str | None
    notes: list[str]
    sqlstate: str | None = None

    @property
    def found(self) -> list[R]:
        return self.rows or []

    @property
    def why(self) -> str:
        """Why there are no rows, and what the server said."""
        reasons = [f"{self.call} is unknown: {self.unknown}."] if self.unknown else []
        return " ".join(reasons + [f"The server says: {note}." for note in self.notes])


@dataclass(frozen=True)
class Facts:
    verdict: Fact[Verdict]
    checkup: Fact[Answer]
    hours: Fact[Hour]
    sizes: Fact[Size]
    usage: Fact[Usage]
    history: Fact[Moment]
    victims: Fact[Victims]
    scans: Fact[Scan]
    gains: Fact[Gain]
    predictions: Fact[Prediction]
    clock: Fact[Clock]
    settings: Fact[Setting]
    pool: Fact[Pooled]
    caches: Fact[Cached]
    maps: Fact[Map]
    # Not in earlier reports.
    consumers: Fact[Consumer] = Fact("pgbufprobe_memory_consumers()", None, None, [])
    memory: Fact[Memory] = Fact("pgbufprobe_memory()", None, None, [])
    status: Fact[Status] = Fact("pgbufprobe_status()", None, None, [])

    @property
    def today(self) -> Size | None:
        return next((row for row in self.sizes.found if row.size_factor == 1), None)

    @property
    def database(self) -> Cached | None:
        """What both caches hold of the whole database: the row without a relation."""
        return next((row for row in self.caches.found if row.oid is None), None)

    @property
    def memory_bytes(self) -> int | None:
        """The memory that the server may use."""
        return next((row.today_bytes for row in self.consumers.found if row.consumer == "total"), None)

    @property
    def decided(self) -> Verdict | None:
        """The decision. In a word that is not known here, it names no size."""
        row = next(iter(self.verdict.found), None)
        if row is None or row.verdict == understood(row.verdict):
            return row
        return replace(row, verdict=Word("unknown"), advised_bytes=None, note=LATER)

    def answer(self, topic: str) -> Answer | None:
        return next((row for row in self.checkup.found if row.topic == topic), None)


@dataclass(frozen=True)
class Sampled:
    """The shares of the buffers, and of the blocks of files, that were read."""

    pool: float
    files: float


@dataclass(frozen=True)
class Report:
    pgbufprobe_report: int
    redacted: bool
    taken_at: Time
    seconds: float | None
    sampled: Sampled
    server: Server
    facts: Facts


def parsed(kind: Any, value: Any, name: str = "it") -> Any:
    """Returns JSON as an object of a type. Raises ValueError if it is not one."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None else parsed(arguments[0], value, name)
    if origin is list and isinstance(value, list):
        return [parsed(arguments[0], each, name) for each in value]
    if is_dataclass(origin or kind) and isinstance(value, dict):
        return _object(origin or kind, arguments, value, name)
    if kind is Time:
        return _time(value, name)
    if kind is Word:
        kind = str
    if kind is float and type(value) is int:
        value = float(value) if abs(value) < LIMIT else math.inf
    if type(value) is not kind or (kind in (int, float) and not abs(value) < LIMIT):
        raise ValueError(f"{name} is not of type {getattr(origin or kind, '__name__', kind)}, or out of range")
    return value


def _time(value: Any, name: str) -> Time:
    try:
        zone = datetime.fromisoformat(value).tzinfo
    except (TypeError, ValueError):
        zone = None
    if zone is None:
        raise ValueError(f"{name} is not a time with its time zone")
    return Time(value)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _object(kind: Any, arguments: tuple[Any, ...], value: dict[str, Any], name: str) -> Any:
    hints = _hints(kind)
    found = {}
    for field in fields(kind):
        hint = hints[field.name]
        if field.name in value:
            hint = hint[arguments] if getattr(hint, "__parameters__", ()) else hint
            found[field.name] = parsed(hint, value[field.name], f"{name}.{field.name}")
        elif field.default is MISSING:
            raise ValueError(f"{name} has no {field.name}")
    return kind(**found)
