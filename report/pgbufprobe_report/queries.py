"""The statements of facts.sql, which psql runs as well."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pgbufprobe_report.facts import Facts

FILE = Path(__file__).resolve().parents[1] / "facts.sql"
VARIABLE = re.compile(r'(?<!:):"?(x|pool|files|block)\b"?')


@dataclass(frozen=True)
class Statement:
    """A statement that returns one value: the rows of a fact. `call` names what it asks."""

    text: str
    call: str = ""

    def filled(self, values: Mapping[str, str]) -> str:
        """Returns the text with the variables of psql in place."""
        return VARIABLE.sub(lambda match: values[match[1]], self.text)


def _read() -> tuple[Statement, Statement, dict[str, Statement]]:
    text = FILE.read_text(encoding="utf-8")
    first, *others = re.findall(r"^SELECT .*?(?=;$|\n\\gset$)", text, re.MULTILINE | re.DOTALL)
    found = {}
    for text in others:
        name = text.split("'")[1]
        function = re.search(r"pgbufprobe_\w+", text)
        found[name] = Statement(text, f"{function[0]}()" if function else "pg_settings")
    return Statement(f"SELECT to_jsonb(t) FROM (\n{first}) AS t"), found.pop("server"), found


# The values of the variables, what is known of the server, the facts, and the type of the rows of each.
VARIABLES, SERVER, QUERIES = _read()
KINDS: dict[str, Any] = {name: get_args(kind)[0] for name, kind in get_type_hints(Facts).items()}
