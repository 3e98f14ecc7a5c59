"""The command line of report/run."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from dataclasses import asdict
from typing import TextIO

from pgbufprobe_report import dsn
from pgbufprobe_report.facts import GatherError
from pgbufprobe_report.gather import gather
from pgbufprobe_report.redact import redact
from pgbufprobe_report.saved import load

EPILOG = """examples:
  report/run "host=db1 dbname=shop user=monitor" > report.html
  report/run --json dbname=shop > before.json
  report/run before.json after.json > comparison.html

A DSN is a connection string of libpq; "" uses the environment (PGHOST, PGDATABASE, ...). The role needs pg_monitor."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="report/run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG,
        description="Writes a self-contained page about the shared_buffers of one server to standard output.",
    )
    made.add_argument("source", metavar="DSN", help="the server; or FILE.json, written by --json or facts.sql")
    made.add_argument(
        "after", nargs="?", metavar="FILE.json", help="a later report, to compare the first FILE.json with"
    )
    made.add_argument("--json", action="store_true", help="write the facts as JSON instead of a page")
    made.add_argument("--redact", action="store_true", help="replace the names of relations and databases")
    return made


class Progress:
    """One line that is rewritten on a terminal, and nothing elsewhere."""

    def __init__(self, name: str = "report", out: TextIO = sys.stderr):
        self.name, self.out = name, out
        self.live = out.isatty()

    def show(self, text: str) -> None:
        if self.live:
            # A wrapped line could not be rewritten.
            room = shutil.get_terminal_size().columns - 1
            line = "".join(c if c.isprintable() else "?" for c in f"{self.name}: {text}" if text)[:room]
            print("\r" + line + "\x1b[K", end="", file=self.out, flush=True)


def parse(made: argparse.ArgumentParser, argv: list[str] | None) -> argparse.Namespace:
    """Returns the arguments. A message repeats none: they may be parts of a connection string without its quotes."""
    arguments, others = made.parse_known_args(argv)
    if others:
        made.error("too many arguments, or an unknown option; a connection string must be quoted")
    return arguments


def is_saved(source: str) -> bool:
    """Returns whether this names a file of --json. A connection string may end like one."""
    return source.endswith(".json") and (os.path.isfile(source) or not dsn.may_be_one(source))


def write(arguments: argparse.Namespace, progress: Progress) -> str:
    """Returns the page or the JSON."""
    sources = [source for source in (arguments.source, arguments.after) if source is not None]
    read = [load(s) if is_saved(s) else gather(s, progress.show) for s in sources]
    if arguments.redact:
        read = [redact(report) for report in read]
    if arguments.json:
        return json.dumps(asdict(read[0]), ensure_ascii=False, indent=1) + "\n"
    progress.show("writing the page")
    # Imported here, because --json needs neither charts nor templates.
    from pgbufprobe_report import compare, page

    try:
        return page.render(read[0]) if len(read) == 1 else compare.render(read[0], read[1])
    except (ArithmeticError, ValueError) as error:
        raise GatherError(f"these facts cannot be those of a server: {error}") from None


def main(argv: list[str] | None = None) -> int:
    made = parser()
    arguments = parse(made, argv)
    if arguments.after is not None and not (is_saved(arguments.source) and is_saved(arguments.after)):
        made.error("only two files that end with .json can be compared")
    if arguments.after is not None and arguments.json:
        made.error("a comparison cannot be written as JSON")
    if sys.stdout.isatty() and not arguments.json:
        made.error("redirect the page to a file: report/run DSN > report.html")
    progress = Progress()
    try:
        text = write(arguments, progress)
    except GatherError as error:
        progress.show("")
        print(f"report/run: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        progress.show("")
        return 130
    progress.show("")
    sys.stdout.buffer.write(text.encode(errors="replace"))
    return 0
