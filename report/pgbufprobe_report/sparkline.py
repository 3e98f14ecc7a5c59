"""The small curve of a server: what sessions wait at each size, or else what is read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pgbufprobe_page.formatting import size
from pgbufprobe_report.facts import Report, Size

WIDTH, HEIGHT, EDGE = 140, 40, 4

# What a curve may show, best first: columns of a size with the ends of its interval.
KINDS = (
    ("waiting", ("estd_read_ms_per_second", "read_ms_low", "read_ms_high")),
    ("storage reads", ("estd_storage_ratio", "storage_ratio_low", "storage_ratio_high")),
    ("reads", ("estd_miss_ratio", "miss_ratio_low", "miss_ratio_high")),
)


@dataclass(frozen=True)
class Sparkline:
    """Coordinates in a box of WIDTH and HEIGHT. `text` is for those who cannot see it."""

    text: str
    line: str
    band: str
    today: float
    advised: tuple[float, float] | None


def _known(sizes: list[Size]) -> tuple[str, list[tuple[int, float, float, float]]]:
    """Returns what the sizes that fit are compared by: size, value and the ends of its interval."""
    for kind, columns in KINDS:
        found = []
        for row in sizes:
            value, low, high = (getattr(row, column) for column in columns)
            if value is not None and row.may_fit and row.size_factor <= 4:
                found.append(
                    (row.shared_buffers_bytes, value, value if low is None else low, value if high is None else high)
                )
        if len(found) > 2:
            return kind, found
    return "", []


def _pairs(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def sparkline(report: Report) -> Sparkline | None:
    """Returns nothing if fewer than three sizes are known."""
    kind, rows = _known(report.facts.sizes.found)
    if not rows:
        return None
    first, last = rows[0][0], rows[-1][0]
    most = max(row[3] for row in rows) or 1.0
    span = math.log(last / first) or 1.0

    def place(count: int, value: float) -> tuple[float, float]:
        across = math.log(count / first) / span
        return EDGE + (WIDTH - 2 * EDGE) * across, HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * max(0.0, value) / most

    line = [place(count, value) for count, value, _, _ in rows]
    band = [place(count, low) for count, _, low, _ in rows]
    band += [place(count, high) for count, _, _, high in reversed(rows)]
    decided = report.facts.decided
    advised = next((place(row[0], row[1]) for row in rows if decided and row[0] == decided.advised_bytes), None)
    best = min(rows, key=lambda row: row[1])[0]
    text = f"{kind} from {size(first)} to {size(last)}, lowest at {size(best)}"
    today = place(report.server.shared_buffers_bytes, 0)[0]
    return Sparkline(text, _pairs(line), _pairs(band), today, advised)
