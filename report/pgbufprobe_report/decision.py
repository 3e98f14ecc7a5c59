"""Other sizes: the curves of waiting, storage reads and reads, and their figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgbufprobe_page import Legend, Picture
from pgbufprobe_page.formatting import size
from pgbufprobe_page.svg import NARROW, SMALL, WIDE, Axis, Line, Point, curve
from pgbufprobe_report.facts import Report, Size
from pgbufprobe_report.view import UNKNOWN, Part, certain, interval, known, milliseconds, said, table, tables

SIZES = Axis("shared_buffers", "sizes")
ABOUT_ALL = "all sizes: "  # begins what a note of today's size says about all

Values = tuple[float | None, float | None, float | None]


@dataclass(frozen=True)
class Kind:
    """What sizes are compared by: columns of a row, and how they are shown."""

    title: str
    column: str
    ends: str
    unit: str
    colour: str
    factor: float
    form: Callable[..., str]

    def values(self, row: object) -> Values:
        """Returns the value of a row, and the ends of its interval."""
        return tuple(getattr(row, name) for name in (self.column, f"{self.ends}_low", f"{self.ends}_high"))

    def cell(self, row: object) -> str:
        return self.form(*self.values(row))


ACCESSES = "% of block accesses"
WAITING = Kind("Waiting for reads", "read_ms_per_second", "read_ms", "ms in each second", "c2", 1, milliseconds)
STORAGE = Kind("Storage reads: in neither cache", "storage_ratio", "storage_ratio", ACCESSES, "c1", 100, interval)
READS = Kind("Reads: not in shared_buffers", "miss_ratio", "miss_ratio", ACCESSES, "c3", 100, interval)
KINDS = (WAITING, STORAGE, READS)  # the decision is by the first that is known


def points(rows: Sequence[Size], kind: Kind) -> list[Point]:
    """Returns the known points of a line."""
    made = []
    for row in rows:
        value, *ends = kind.values(row)
        if value is not None and certain(value, *ends) and row.may_fit and row.size_factor <= 4:
            low, high = (None if end is None else kind.factor * end for end in ends)
            text = f"{size(row.shared_buffers_bytes)}: {kind.cell(row)}"
            made.append(Point(row.shared_buffers_bytes, kind.factor * value, low, high, text))
    return made


def picture(lines: list[Line], kind: Kind, markers: dict[str, float], wide: bool, axis: Axis = SIZES) -> Picture:
    boxes = (WIDE, NARROW) if wide else (SMALL,)
    drawn = tuple(curve(lines, axis, kind.unit, markers, kind.title, box) for box in boxes)
    names = Legend(tuple((line.name, line.colour) for line in lines), "line")
    return Picture(f"{kind.title}, by {axis.title}", "Bands are 95 % intervals." if wide else "", drawn, names)


def markers(sizes: dict[str, int | None]) -> dict[str, float]:
    """Returns sizes by their texts. Names of the same size are one."""
    names: dict[int, list[str]] = {}
    for name, count in sizes.items():
        if count is not None:
            names.setdefault(count, []).append(name)
    return {f"{', and '.join(found)}: {size(count)}": count for count, found in names.items()}


def charts(report: Report) -> tuple[Picture, ...]:
    """Returns a large chart of what decides, and small ones of the rest."""
    found = [(kind, made) for kind in KINDS if len(made := points(report.facts.sizes.found, kind)) > 1]
    decided = report.facts.decided
    sizes = {"today": report.server.shared_buffers_bytes, "advised": decided.advised_bytes if decided else None}
    marks = markers(sizes)
    return tuple(
        picture([Line(kind.title, kind.colour, made)], kind, marks, wide=not place)
        for place, (kind, made) in enumerate(found)
    )


def too_large(sizes: list[Size]) -> tuple[str, ...]:
    """Returns which sizes do not fit, and why."""
    return said(
        [(size(row.shared_buffers_bytes), row.fits) for row in sizes if not row.may_fit], "Larger sizes do not fit"
    )


def notes(sizes: list[Size]) -> tuple[str, ...]:
    """Returns what the server says about sizes, each once. In the row of today's, it may say what is about all."""
    parts = [(size(row.shared_buffers_bytes), (row.note or "").split("; ")) for row in sizes if row.may_fit]
    about_all = [part for _, note in parts for part in note if part.startswith(ABOUT_ALL)]
    rest = [(name, "; ".join(part for part in note if part not in about_all)) for name, note in parts]
    return (*(f"A{part[1:]}." for part in about_all), *said(rest, "All sizes"))


def part(report: Report) -> Part:
    sizes = report.facts.sizes.found
    rows = [
        (
            size(row.shared_buffers_bytes) + (f", {row.mark}" if row.mark else ""),
            *(kind.cell(row) for kind in KINDS),
            known(row.os_cache_bytes, size),
        )
        for row in sizes
        if row.may_fit
    ]
    made = table(
        "All sizes that fit, with 95 % intervals",
        ["shared_buffers", "Waiting per second", "Storage reads", "Reads", "Page cache"],
        [row for row in rows if set(row[1:4]) != {UNKNOWN}],
        long=True,
    )
    after = (*notes(sizes), *too_large(sizes))
    return Part(
        "sizes", "Other sizes", unknown=report.facts.sizes.why, charts=charts(report), details=tables(made), after=after
    )
