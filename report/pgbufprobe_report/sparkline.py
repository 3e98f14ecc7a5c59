"""The small curve of a server: what sessions wait at each size, or else what is read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pgbufprobe_page.formatting import size
from pgbufprobe_page.svg import Point
from pgbufprobe_report.decision import KINDS, points
from pgbufprobe_report.facts import Report, Size

WIDTH, HEIGHT, EDGE = 120, 26, 3


@dataclass(frozen=True)
class Sparkline:
    """Coordinates in a box of WIDTH and HEIGHT. `text` is for those who cannot see it."""

    text: str
    line: str
    band: str
    today: float
    advised: tuple[float, float] | None


def _known(sizes: list[Size]) -> tuple[str, list[Point]]:
    """Returns what the sizes that fit are compared by, and its values."""
    for kind in KINDS:
        found = points(sizes, kind)
        if len(found) > 2:
            return kind.title, found
    return "", []


def _pairs(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def sparkline(report: Report) -> Sparkline | None:
    """Returns nothing if fewer than three sizes are known."""
    kind, rows = _known(report.facts.sizes.found)
    if not rows:
        return None
    first, last = rows[0].x, rows[-1].x
    most = max(row.y if row.high is None else row.high for row in rows) or 1.0
    span = math.log(last / first) or 1.0

    def place(count: float, value: float | None) -> tuple[float, float]:
        across = math.log(count / first) / span
        return EDGE + (WIDTH - 2 * EDGE) * across, HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * max(0.0, value or 0) / most

    line = [place(row.x, row.y) for row in rows]
    band = [place(row.x, row.y if row.low is None else row.low) for row in rows]
    band += [place(row.x, row.y if row.high is None else row.high) for row in reversed(rows)]
    decided = report.facts.decided
    advised = next((place(row.x, row.y) for row in rows if decided and row.x == decided.advised_bytes), None)
    best = min(rows, key=lambda row: row.y).x
    text = f"{kind} from {size(first)} to {size(last)}, lowest at {size(best)}"
    today = place(report.server.shared_buffers_bytes, 0)[0]
    return Sparkline(text, _pairs(line), _pairs(band), today, advised)
