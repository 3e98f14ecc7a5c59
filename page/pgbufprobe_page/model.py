"""Tables and charts, independent of the format that they are written in."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

Spec = dict[str, Any]  # a Vega-Lite specification


def spec_text(spec: Spec) -> str:
    """Returns a specification as JSON. Vega-Lite cannot parse Unicode line separators in names; they become spaces."""
    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[\u2028\u2029]", " ", text)


@dataclass(frozen=True)
class Table:
    """Cells are plain text, and the first column names the row. `numeric` marks the columns with figures, `faded` the
    rows that are greyed out.

    On a narrow screen, a long table scrolls sideways, and others show the cells of a row below each other.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    failed: bool = False
    long: bool = False
    faded: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification with its title and caption. `name` is its element and its file."""

    title: str
    caption: str
    spec: Spec
    wide: bool = False
    name: str = ""


@dataclass(frozen=True)
class Picture:
    """A chart that is drawn: in one size, or also in one for narrow screens."""

    title: str
    caption: str
    drawn: tuple[Markup, ...]
    legend: Markup

    @property
    def wide(self) -> bool:
        return len(self.drawn) > 1
