"""The command line: what to run, how large, where to."""

import argparse
import logging
import os
import signal
import sys
from pathlib import Path

from . import cgroup, machine
from .errors import LabError, Stopped
from .plan import PROFILES, Plan
from .progress import Progress
from .scenarios import NAMES, load
from .sizes import MB, format_bytes, parse_bytes

LEAST_MEMORY = 128 * MB

EPILOG = """Results: a JSON a scenario, and report.html and report.md over all of them, in the folder of --out.
A run that was interrupted continues there with what is missing, if it is started again with the same options.
lab/README.md tells what each scenario asks."""


def memory_size(text: str) -> int:
    try:
        size = parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < LEAST_MEMORY:
        raise argparse.ArgumentTypeError(f"{text} is too small for a server; at least {format_bytes(LEAST_MEMORY)}")
    return size


def major_version(text: str) -> int:
    if not text.isdigit() or not 15 <= int(text) <= 99:
        raise argparse.ArgumentTypeError(f'not a major version of PostgreSQL from 15 on: "{text}"')
    return int(text)


def existing_folder(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return path.resolve()


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="lab/run", formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EPILOG,
        description="Repeats published experiments about shared_buffers on this machine.",
    )
    p.add_argument("names", nargs="*", metavar="name", help="scenarios, A1 to E5, a letter for all of that letter, or all")
    p.add_argument("--list", action="store_true", help="list the scenarios and what they ask")
    p.add_argument("--profile", choices=PROFILES, default="quick", help="how large and long (default: %(default)s)")
    p.add_argument("--memory", type=memory_size, metavar="SIZE",
                   help="the machine's memory as the server is to see it, by a memory cgroup "
                   "(default: 256MB quick, 1GB normal, the RAM published)")
    p.add_argument("--pg", type=major_version, metavar="MAJOR",
                   help="major version of the server (default: the one at hand; for B, 16 where that is older)")
    p.add_argument("--data-dir", type=existing_folder, action="append", default=[], metavar="DIR",
                   help="where E5 makes a data directory; repeat it to compare file systems")
    p.add_argument("--out", type=Path, default=Path("lab-results"), metavar="DIR", help="results (default: %(default)s)")
    return p


def select(names: list[str]) -> list[str]:
    """Scenarios in their own order, each once."""
    wanted = set()
    for name in names:
        upper = name.upper()
        some = [n for n in NAMES if upper in ("ALL", n) or (len(upper) == 1 and n.startswith(upper))]
        if not some:
            raise LabError(f'there is no scenario "{name}"; lab/run --list shows them')
        wanted.update(some)
    return [n for n in NAMES if n in wanted]


def print_list() -> None:
    for name in NAMES:
        print(f"{name:<4}{load(name).asks}")


def _stop(number: int, _frame: object) -> None:
    # Once is enough; what follows is cleaning up.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def catch_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)


def run(arguments: argparse.Namespace) -> int:
    from .session import Session     # after --help and --list, which need no driver

    # What an interrupt does to a connection is no news.
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    names = select(arguments.names)
    plan = Plan.make(arguments.profile, machine.ram(), arguments.memory, tuple(arguments.data_dir))
    out: Path = arguments.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"{out} cannot be made: {error.strerror}") from None
    if not os.access(out, os.W_OK):
        raise LabError(f"{out} cannot be written to")
    progress = Progress()
    return Session(plan, cgroup.find(), out, progress).run([load(n) for n in names], arguments.pg)


def main(argv: list[str] | None = None) -> int:
    p = parser()
    arguments = p.parse_args(argv)
    if arguments.list:
        print_list()
        return 0
    if not arguments.names:
        p.error("name scenarios, or all; --list shows them")
    catch_signals()
    try:
        return run(arguments)
    except LabError as error:
        print(f"lab/run: {error}", file=sys.stderr)
        return 2
    except Stopped as stopped:
        return 128 + stopped.signal_number
