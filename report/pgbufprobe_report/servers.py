"""Many servers: where their names come from, and what each has answered."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from pgbufprobe_report import dsn
from pgbufprobe_report.facts import GatherError, Report
from pgbufprobe_report.gather import gather
from pgbufprobe_report.redact import redact
from pgbufprobe_report.saved import load

Show = Callable[[str], None]

AT_ONCE = 8
NAME_LENGTH = 80  # of a file, which some file systems limit to 255 bytes
WITHHELD = "a message, which is withheld"


@dataclass(frozen=True)
class Source:
    """A server by name, and where its facts come from: a connection string, or a file of --json.

    `wrong` is the reason why it cannot be asked.
    """

    name: str
    place: str
    saved: bool = False
    wrong: str = ""


@dataclass(frozen=True)
class Answered:
    """What is known of a server: its report, or the reason why there is none. `file` is the name of its files."""

    name: str
    file: str
    report: Report | None
    reason: str


def _line(text: str, place: str) -> Source:
    """Returns the server of a line. If that is no connection string, its name is only where the line is."""
    if text.endswith(".json") and os.path.isfile(text):
        return Source(Path(text).stem, text, saved=True)
    try:
        return Source(dsn.named(dsn.understood(text)), text)
    except ValueError as error:
        return Source(place, "", wrong=str(error))


def _services(path: Path, text: str) -> list[Source]:
    """Returns the services of a service file, which libpq reads itself."""
    given = os.environ.setdefault("PGSERVICEFILE", str(path.resolve()))
    if given != str(path.resolve()):
        raise GatherError(f"{path} is not the service file that PGSERVICEFILE names, {given}")
    return [Source(name, f"service={_quoted(name)}") for name in re.findall(r"^\[(.+)\]", text, re.MULTILINE)]


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _listed(path: Path) -> list[Source]:
    """Returns the servers of a service file, or of connection strings, one a line."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise GatherError(f"could not read {path}: {error.strerror}") from None
    except ValueError:
        raise GatherError(f"{path} is not UTF-8") from None
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if lines and lines[0][1].startswith("["):
        return _services(path, text)
    return [_line(line, f"{path.name}, line {number}") for number, line in lines]


def sources(path: str) -> list[Source]:
    """Returns the servers of a file. One that cannot be read is a server that cannot be asked."""
    if dsn.may_be_one(path) and not os.path.exists(path):
        raise GatherError("connection strings must be in a file, one a line")
    if path.endswith(".json"):
        return [Source(Path(path).stem, path, saved=True)]
    try:
        return _listed(Path(path))
    except GatherError as error:
        name = Path(path).name
        return [Source(name, path, wrong=str(error).replace(path, name))]


def unexpected(error: Exception) -> str:
    """Returns a reason without the error's message, which may repeat a connection string."""
    return f"unexpected {type(error).__name__}"


def _ask(source: Source) -> tuple[Report | None, str]:
    """Returns a report or the reason why there is none. A connection string is no part of it."""
    if source.wrong:
        return None, source.wrong
    try:
        return (load(source.place) if source.saved else gather(source.place)), ""
    except GatherError as error:
        return None, str(error).replace(source.place, source.name)
    except Exception as error:  # of one server, which must not keep the others from being shown
        return None, unexpected(error)


def _distinct(names: Iterable[str]) -> list[str]:
    """Returns a file name for each name, none of them twice, also where case does not count."""
    found: list[str] = []
    taken = {"index"}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:NAME_LENGTH] or "server"
        file, number = plain, 1
        while file.lower() in taken:
            number += 1
            file = f"{plain}-{number}"
        taken.add(file.lower())
        found.append(file)
    return found


def _all(asked: list[Source], show: Show) -> list[tuple[Report | None, str]]:
    """Asks so many servers at once, and returns the answers in the order of the sources."""
    answers: list[tuple[Report | None, str]] = [(None, "")] * len(asked)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = {pool.submit(_ask, source): number for number, source in enumerate(asked)}
        for done, future in enumerate(as_completed(running), 1):
            number = running[future]
            answers[number] = future.result()
            show(f"{done} of {len(asked)} asked, the latest {asked[number].name}")
    return answers


def ask(asked: list[Source], redacted: bool, show: Show = lambda text: None) -> list[Answered]:
    """Returns what each server has answered, without names if they are redacted."""
    answers = _all(asked, show)
    names = [f"server {number}" for number in range(1, len(asked) + 1)] if redacted else [each.name for each in asked]
    found = [
        Answered(name, file, report, reason)
        for name, file, (report, reason) in zip(names, _distinct(names), answers, strict=True)
    ]
    if not redacted:
        return found
    return [
        replace(
            each, report=redact(each.report) if each.report else None, reason=each.reason and f"no report: {WITHHELD}"
        )
        for each in found
    ]
