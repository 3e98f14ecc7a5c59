"""The style and the types of all Python code."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("page", "report", "lab", "bench")
RUFF = ("ruff", "--config", "page/pyproject.toml")
# Complete entries of the cache may be used by any other run.
MYPY = ("mypy", "--config-file", "page/pyproject.toml", "--cache-dir", str(Path(sys.prefix) / "mypy"))


@pytest.mark.parametrize(
    "command",
    [
        (*RUFF, "check", "--no-cache", *FOLDERS),
        (*RUFF, "format", "--check", "--no-cache", *FOLDERS),
        (*MYPY, "page/pgbufprobe_page", "report/pgbufprobe_report"),
    ],
    ids=["check", "format", "types"],
)
def test_nothing_is_found(command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
