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
    parser.add_argument("outdir", type=Path, help="folder of results, as written by lab/run")
    outdir = parser.parse_args(arguments).outdir
    if not outdir.is_dir():
        parser.error(f"folder {outdir} does not exist")
    for path in write_report(outdir):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
