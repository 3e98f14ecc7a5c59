"""Formats numbers, sizes and lists for reports."""

from __future__ import annotations

import math
from collections.abc import Sequence

MISSING = "–"


def number(value: float | None, digits: int = 3) -> str:
    """Returns up to three significant digits; whole numbers in full, with commas."""
    if value is None or math.isnan(value):
        return MISSING
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude >= digits:
        return f"{round(value):,}"
    text = f"{value:.{max(0, digits - 1 - magnitude)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """Returns at most four digits; a share above zero is never 0 %."""
    return "< 0.1 %" if 0 < share < 0.001 else f"{100 * share:.4g} %"


def with_unit(value: float | None, unit: str, digits: int = 3) -> str:
    """Returns a figure with its unit; shares (0..1) as percent, factors with a sign."""
    if value is None:
        return MISSING
    if unit == "share":
        return percent(value)
    if unit == "x":
        return f"{number(value, digits)} ×"
    if unit == "bytes":
        return size(value)
    return f"{number(value, digits)} {unit}".rstrip()


def size(value: float | None) -> str:
    if value is None:
        return MISSING
    for name, unit in (("TB", 1024**4), ("GB", 1024**3), ("MB", 1024**2), ("kB", 1024)):
        if abs(value) >= unit:
            scaled = value / unit
            return f"{scaled:.0f} {name}" if scaled >= 100 or scaled == int(scaled) else f"{scaled:.3g} {name}"
    return f"{value:.0f} B"


def factor(value: float | None) -> str:
    """Returns a ratio, with two digits."""
    if value is None:
        return MISSING
    return f"{number(value, 2)} ×"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return MISSING
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def words(items: Sequence[str]) -> str:
    """Returns "a, b and c"."""
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]
