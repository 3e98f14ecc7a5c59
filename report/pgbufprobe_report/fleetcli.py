"""The command line of report/fleet."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path

from pgbufprobe_report import fleet, page, servers
from pgbufprobe_report.cli import Progress, parse
from pgbufprobe_report.facts import GatherError
from pgbufprobe_report.servers import WITHHELD, Answered

EPILOG = """examples:
  report/fleet fleet servers.txt                       connection strings, one a line
  report/fleet fleet ~/.pg_service.conf                all services of the file
  report/fleet --json --redact fleet servers.txt       to send on, with the facts as data
  report/fleet fleet reports/*.json                    what --json or facts.sql has written

Then open fleet/index.html. Each role needs pg_monitor."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="report/fleet",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG,
        description="Writes a page about the shared_buffers of many servers, and a report about each, into a folder.",
    )
    made.add_argument("folder", metavar="FOLDER", help="where index.html goes, and a page for each server")
    made.add_argument(
        "files", nargs="+", metavar="FILE", help="connection strings, a service file, or FILE.json written by --json"
    )
    made.add_argument("--json", action="store_true", help="also write the facts of each server as JSON")
    made.add_argument("--redact", action="store_true", help="replace the names of servers, databases and relations")
    return made


def put(path: Path, text: str) -> None:
    """Replaces a file as a whole."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(text.encode(errors="replace"))
    partial.replace(path)


def write(each: Answered, folder: Path, data: bool) -> Answered:
    """Writes the page of a server that has answered. Returns it, without its report if that was not possible."""
    if each.report is None:
        return each
    try:
        fleet.answered(each)  # as the page about all will
        text = page.render(each.report, back="index.html")
    except (ArithmeticError, ValueError) as error:
        said = WITHHELD if each.report.redacted else error
        return replace(each, report=None, reason=f"these facts cannot be those of a server: {said}")
    except Exception as error:  # of one server, which must not keep the others from being shown
        return replace(each, report=None, reason=servers.unexpected(error))
    put(folder / f"{each.file}.html", text)
    if data:
        put(folder / f"{each.file}.json", json.dumps(asdict(each.report), ensure_ascii=False, indent=1) + "\n")
    return each


def run(arguments: argparse.Namespace, progress: Progress) -> list[Answered]:
    """Writes all files, the page about all servers last, and returns the servers."""
    asked = [source for path in arguments.files for source in servers.sources(path)]
    if not asked:
        raise GatherError("these files name no server")
    folder = Path(arguments.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = servers.ask(asked, arguments.redact, progress.show)
        progress.show("writing the pages")
        found = [write(each, folder, arguments.json) for each in found]
        put(folder / "index.html", fleet.render(found))
    except OSError as error:
        raise GatherError(f"could not write {error.filename or folder}: {error.strerror}") from None
    return found


def main(argv: list[str] | None = None) -> int:
    arguments = parse(parser(), argv)
    progress = Progress("fleet")
    try:
        found = run(arguments, progress)
    except GatherError as error:
        progress.show("")
        print(f"report/fleet: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        progress.show("")
        return 130
    progress.show("")
    missing = [each for each in found if each.report is None]
    for each in missing:
        line = "".join(c if c.isprintable() else " " for c in f"{each.name}: {each.reason}")
        print(f"report/fleet: {line}", file=sys.stderr)
    return 2 if len(missing) == len(found) else 0


if __name__ == "__main__":
    sys.exit(main())
