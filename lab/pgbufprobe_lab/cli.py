"""The command line of lab/run. The only module that knows both the measuring and the report."""

import argparse
import logging
import os
import signal
import sys
from pathlib import Path

from pgbufprobe_lab.measure import cgroup, machine
from pgbufprobe_lab.measure.errors import LabError, Stopped
from pgbufprobe_lab.measure.plan import PROFILES, Plan
from pgbufprobe_lab.measure.progress import Progress
from pgbufprobe_lab.measure.scenarios import NAMES, load
from pgbufprobe_lab.sizes import MB, format_bytes, parse_bytes

LEAST_MEMORY = 128 * MB

EPILOG = """The folder of --out holds one JSON file for each scenario, and report.html and report.md for all of them.
The same command continues an interrupted run with the remaining steps.
See lab/README.md for the questions that the scenarios answer."""


def memory_size(text: str) -> int:
    try:
        size = parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < LEAST_MEMORY:
        raise argparse.ArgumentTypeError(
            f"{text} is too small for a server; the minimum is {format_bytes(LEAST_MEMORY)}"
        )
    return size


def major_version(text: str) -> int:
    if not text.isdigit() or not 15 <= int(text) <= 99:
        raise argparse.ArgumentTypeError(f'"{text}" is not a major version of PostgreSQL, 15 or later')
    return int(text)


def existing_folder(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"folder {text} does not exist")
    return path.resolve()


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="lab/run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG,
        description="Repeats published experiments about shared_buffers on this machine.",
    )
    p.add_argument(
        "names", nargs="*", metavar="name", help="a scenario (A1 to E5), a letter for all of its scenarios, or all"
    )
    p.add_argument("--list", action="store_true", help="list the scenarios and their questions")
    p.add_argument(
        "--profile",
        choices=PROFILES,
        default="quick",
        help="size of the tables and duration of the runs (default: %(default)s)",
    )
    p.add_argument(
        "--memory",
        type=memory_size,
        metavar="SIZE",
        help="memory available to the server, limited by a memory cgroup "
        "(default: 256MB in quick, 1GB in normal, all RAM in published)",
    )
    p.add_argument(
        "--pg",
        type=major_version,
        metavar="MAJOR",
        help="major version of the server (default: the installed one; 16 for B if that is older)",
    )
    p.add_argument(
        "--data-dir",
        type=existing_folder,
        action="append",
        default=[],
        metavar="DIR",
        help="folder in which E5 creates a data directory; repeat it to compare file systems",
    )
    p.add_argument(
        "--out", type=Path, default=Path("lab-results"), metavar="DIR", help="folder of results (default: %(default)s)"
    )
    return p


def select(names: list[str]) -> list[str]:
    """Returns the selected scenarios in their own order, each once."""
    wanted = set()
    for name in names:
        upper = name.upper()
        some = [n for n in NAMES if upper in ("ALL", n) or (len(upper) == 1 and n.startswith(upper))]
        if not some:
            raise LabError(f'scenario "{name}" does not exist; lab/run --list lists the scenarios')
        wanted.update(some)
    return [n for n in NAMES if n in wanted]


def print_list() -> None:
    for name in NAMES:
        print(f"{name:<4}{load(name).asks}")


def _stop(number: int, _frame: object) -> None:
    # Further signals must not interrupt the cleanup.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def catch_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)


def run(arguments: argparse.Namespace) -> int:
    # Imported here, because --help and --list need neither the driver nor the templates.
    from pgbufprobe_lab.measure.session import Session
    from pgbufprobe_lab.report import write_report

    # Do not report connections that an interrupt breaks.
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    names = select(arguments.names)
    plan = Plan.make(arguments.profile, machine.ram(), arguments.memory, tuple(arguments.data_dir))
    out: Path = arguments.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"could not create {out}: {error.strerror}") from None
    if not os.access(out, os.W_OK):
        raise LabError(f"could not write to {out}")
    session = Session(plan, cgroup.find(), out, Progress(), write_report)
    return session.run([load(n) for n in names], arguments.pg)


def main(argv: list[str] | None = None) -> int:
    p = parser()
    arguments = p.parse_args(argv)
    if arguments.list:
        print_list()
        return 0
    if not arguments.names:
        p.error("name one or more scenarios, or all; --list lists them")
    catch_signals()
    try:
        return run(arguments)
    except LabError as error:
        print(f"lab/run: {error}", file=sys.stderr)
        return 2
    except Stopped as stopped:
        return 128 + stopped.signal_number
