"""python -m pgbufprobe_lab.report OUTDIR"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pgbufprobe_lab.report import write_report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m pgbufprobe_lab.report",
        description="Writes report.html, report.md and its pictures from a folder of results.",
    )
    parser.add_argument("outdir", type=Path, help="the folder that lab/run wrote its results to")
    outdir = parser.parse_args(arguments).outdir
    if not outdir.is_dir():
        parser.error(f"there is no folder {outdir}")
    for path in write_report(outdir):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
